#include "sqlite/connections.h"

#include <algorithm>
#include <filesystem>

namespace pawl::sqlite {

namespace {

using std::chrono::steady_clock;

std::size_t readers_allowed(const SqliteTarget& target) {
    if (is_memory(target)) return 0;
    return static_cast<std::size_t>(std::max(target.max_connections, 1) - 1);
}

}  // namespace

Connections::Connections(const SqliteTarget& target, std::function<void()> replaced)
    : target_(target),
      replaced_(std::move(replaced)),
      path_(check_path(target.path)),
      max_readers_(readers_allowed(target)) {
    if (is_memory(target_)) {
        open_writer(Database::Role::creator);
    } else if (std::filesystem::exists(path_)) {
        open_writer(Database::Role::writer);  // an unusable file is refused here
    }
}

void Connections::open_writer(Database::Role role) {
    if (!writer_) writer_ = std::make_unique<Database>(target_, path_, role);
}

Connections::PooledConnection Connections::writer() {
    return take_writer(Database::Role::writer);
}

Connections::PooledConnection Connections::creator() {
    return take_writer(Database::Role::creator);
}

Connections::PooledConnection Connections::take_writer(Database::Role role) {
    const auto deadline = steady_clock::now() + target_.busy_timeout;
    std::unique_lock lock(mutex_);
    if (!writer_free_.wait_until(lock, deadline, [&] { return !writer_taken_; }))
        throw busy_error({target_.path, target_.busy_timeout});
    const bool replaced = writer_ && writer_->replaced();
    if (replaced) writer_.reset();
    open_writer(role);
    writer_taken_ = true;
    if (replaced) {
        lock.unlock();  // it calls the user's log
        try {
            replaced_();
        } catch (...) {
            return_connection(*writer_, Database::Role::writer);
            throw;
        }
    }
    writer_->wait_for_locks_until(deadline);
    return {*this, *writer_, Database::Role::writer};
}

Connections::PooledConnection Connections::reader() {
    if (max_readers_ == 0) return writer();
    const auto deadline = steady_clock::now() + target_.busy_timeout;
    Database& database = take_reader(deadline);
    database.wait_for_locks_until(deadline);
    return {*this, database, Database::Role::reader};
}

Database& Connections::take_reader(Database::Deadline deadline) {
    std::unique_lock lock(mutex_);
    const auto possible = [&] {
        return !idle_readers_.empty() || readers_.size() + opening_ < max_readers_;
    };
    if (!reader_free_.wait_until(lock, deadline, possible))
        throw busy_error({target_.path, target_.busy_timeout});
    bool replaced = false;
    Database* idle = nullptr;
    while (idle == nullptr && !idle_readers_.empty()) {
        Database& database = *idle_readers_.back();  // the last used has the warmest cache
        const bool outdated = database.replaced();
        idle_readers_.pop_back();
        if (outdated) {
            std::erase_if(readers_, [&](const auto& reader) { return reader.get() == &database; });
            replaced = true;
        } else {
            idle = &database;
        }
    }
    if (idle != nullptr && !replaced) return *idle;
    if (idle == nullptr) ++opening_;
    lock.unlock();
    std::unique_ptr<Database> opened;
    try {
        if (replaced) replaced_();  // it calls the user's log
        if (idle == nullptr) opened = open_extra();
    } catch (...) {
        lock.lock();
        if (idle == nullptr) {
            --opening_;
        } else {
            idle_readers_.push_back(idle);
        }
        reader_free_.notify_one();
        throw;
    }
    if (idle != nullptr) return *idle;
    lock.lock();
    --opening_;
    readers_.push_back(std::move(opened));
    idle_readers_.reserve(readers_.size());  // so that returning a connection never allocates
    return *readers_.back();
}

void Connections::return_connection(Database& database, Database::Role role) {
    const std::lock_guard lock(mutex_);
    if (role != Database::Role::reader) {
        writer_taken_ = false;
        writer_free_.notify_one();
    } else {
        idle_readers_.push_back(&database);
        reader_free_.notify_one();
    }
}

std::unique_ptr<Database> Connections::open_extra() const {
    return std::make_unique<Database>(target_, path_, Database::Role::reader);
}

}  // namespace pawl::sqlite
