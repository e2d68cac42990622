#include "runtime/committer.h"

#include <algorithm>
#include <fmt/format.h>

namespace pawl::runtime {

using store::Attempt;
using store::Write;
using store::WriteOutcome;
using store::WriteStatus;

namespace {
constexpr std::size_t max_batch = 2'000;
constexpr std::size_t max_pending = 20'000;
constexpr Duration busy_pause = 2ms;
}  // namespace

Committer::Committer(store::Backend& backend)
    : backend_(backend), thread_([this](const std::stop_token& stop) { work(stop); }) {}

Committer::~Committer() {
    stop();
}

void Committer::stop() {
    thread_.request_stop();
    if (thread_.joinable()) thread_.join();
}

void Committer::submit(std::vector<Write> writes, Settled settled) {
    if (writes.empty()) return;
    auto submission = std::make_shared<Submission>();
    submission->open = writes.size();
    submission->outcomes.resize(writes.size());
    submission->writes = std::move(writes);
    submission->settled = std::move(settled);
    {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, thread_.get_stop_token(), [&] {
            return pending_.size() < max_pending;
        });
        for (std::size_t i = 0; i < submission->writes.size(); ++i)
            pending_.push_back({submission, i});
        only_busy_left_ = false;
    }
    changed_.notify_all();
}

bool Committer::flush(std::chrono::steady_clock::time_point deadline) {
    std::unique_lock lock(mutex_);
    return changed_.wait_until(lock, deadline, [&] { return pending_.empty() && in_flight_ == 0; });
}

std::vector<Committer::Item> Committer::take(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, stop, [&] { return !pending_.empty(); });
    if (stop.stop_requested()) return {};
    const auto count = static_cast<std::ptrdiff_t>(std::min(pending_.size(), max_batch));
    std::vector<Item> items(
        std::make_move_iterator(pending_.begin()), std::make_move_iterator(pending_.begin() + count)
    );
    pending_.erase(pending_.begin(), pending_.begin() + count);
    in_flight_ = items.size();
    return items;
}

void Committer::work(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        std::vector<Item> items = take(stop);
        if (items.empty()) return;
        std::vector<Write> writes;
        writes.reserve(items.size());
        for (const Item& item : items)
            writes.push_back(std::move(item.submission->writes[item.index]));
        std::vector<WriteOutcome> outcomes = commit(writes, stop);
        for (std::size_t i = 0; i < items.size(); ++i)
            items[i].submission->writes[items[i].index] = std::move(writes[i]);
        if (outcomes.empty()) return;  // stopped while the database was away
        distribute(std::move(items), std::move(outcomes));
        if (only_busy_left_) pause(busy_pause, stop);
    }
}

// Keeps trying while the database is away; a batch in doubt is repeated as such.
std::vector<WriteOutcome> Committer::commit(
    std::span<const Write> writes, const std::stop_token& stop
) {
    Attempt attempt = Attempt::first;
    Duration wait = 20ms;
    while (!stop.stop_requested()) {
        try {
            return backend_.commit(writes, attempt);
        } catch (const Error& error) {
            if (error.in_doubt()) attempt = Attempt::repeated;
            backend_.log().warning(
                fmt::format("{} writes wait for the database: {}", writes.size(), error.what())
            );
        } catch (const std::exception& error) {
            backend_.log().error(fmt::format("{} writes failed: {}", writes.size(), error.what()));
        }
        pause(wait, stop);
        wait = std::min<Duration>(wait * 2, 1s);
    }
    return {};
}

void Committer::distribute(std::vector<Item> items, std::vector<WriteOutcome> outcomes) {
    std::vector<Item> busy;
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (outcomes[i].status == WriteStatus::busy) {
            busy.push_back(std::move(items[i]));
            continue;
        }
        Submission& submission = *items[i].submission;
        submission.outcomes[items[i].index] = std::move(outcomes[i]);
        if (--submission.open == 0 && submission.settled)
            submission.settled(submission.writes, submission.outcomes);
    }
    {
        const std::lock_guard lock(mutex_);
        in_flight_ = 0;
        only_busy_left_ = !busy.empty() && pending_.empty();
        pending_.insert(
            pending_.begin(),
            std::make_move_iterator(busy.begin()),
            std::make_move_iterator(busy.end())
        );
    }
    changed_.notify_all();
}

void Committer::pause(Duration time, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, stop, time, [] { return false; });
}

}  // namespace pawl::runtime
