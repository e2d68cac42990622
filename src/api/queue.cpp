#include <chrono>
#include <fmt/format.h>
#include <pawl/queue.h>

#include "base/deadline.h"
#include "model/check.h"
#include "model/counts.h"
#include "store/backend.h"
#include "store/retry.h"

namespace pawl {

using store::retrying;
using store::Write;
using store::WriteKind;

namespace {

using Clock = std::chrono::steady_clock;

// The longest poll interval if other processes cannot wake this one.
constexpr Duration poll_deaf = 500ms;

void check_batch(std::span<const NewMessage> messages, std::size_t max_payload_bytes) {
    for (std::size_t i = 0; i < messages.size(); ++i) {
        try {
            model::check_new_message(messages[i], max_payload_bytes);
        } catch (const Error& error) {
            if (messages.size() == 1) throw;
            throw Error(error.code(), fmt::format("message {} of the batch: {}", i, error.what()));
        }
    }
}

std::vector<Write> to_writes(
    std::span<const Lease> leases,
    WriteKind kind,
    Duration delay = {},
    const std::string& reason = {}
) {
    std::vector<Write> writes;
    writes.reserve(leases.size());
    for (const Lease& lease : leases)
        writes.push_back(store::settle_write(kind, lease, delay, reason));
    return writes;
}

std::span<const Lease> one(const Lease& lease) {
    return {&lease, 1};
}

}  // namespace

Queue::Queue(std::shared_ptr<store::Backend> backend, std::string name)
    : backend_(std::move(backend)), name_(std::move(name)) {}

MessageId Queue::enqueue(const Json& payload, const EnqueueOptions& options) const {
    const NewMessage message{payload, options};
    return enqueue(std::span(&message, 1)).front();
}

std::vector<MessageId> Queue::enqueue(std::span<const NewMessage> messages) const {
    check_batch(messages, backend_->options().max_payload_bytes);
    if (messages.empty()) return {};
    return retrying(*backend_, [&] { return backend_->enqueue(name_, messages); });
}

MessageId Queue::enqueue_in(
    Transaction transaction, const Json& payload, const EnqueueOptions& options
) const {
    const NewMessage message{payload, options};
    return enqueue_in(transaction, std::span(&message, 1)).front();
}

std::vector<MessageId> Queue::enqueue_in(
    Transaction transaction, std::span<const NewMessage> messages
) const {
    check_batch(messages, backend_->options().max_payload_bytes);
    if (messages.empty()) return {};
    return backend_->enqueue_in(transaction, name_, messages);
}

std::vector<Message> Queue::dequeue(const DequeueOptions& options) const {
    if (options.max_messages < 1 || options.max_messages > 10'000)
        throw Error(ErrorCode::invalid_argument, "max_messages must be 1 to 10000");
    if (options.lease) model::check_positive("lease", *options.lease);
    model::check_delay("wait", options.wait);

    const auto deadline = base::deadline_after(options.wait);
    const Duration poll = backend_->hears_others()
                              ? backend_->options().poll_interval
                              : std::min(backend_->options().poll_interval, poll_deaf);
    store::ClaimRequest request;
    request.queues = {info().id};
    request.max_messages = options.max_messages;
    request.lease = options.lease;
    while (true) {
        const bool waits = Clock::now() < deadline;
        const auto ticket = waits ? backend_->wake_hub().ticket() : 0;
        store::Claim claim = retrying(*backend_, [&] { return backend_->claim(request); });
        if (!claim.messages.empty() || !waits) {
            for (Message& message : claim.messages) message.queue = name_;
            return std::move(claim.messages);
        }
        auto until = std::min(deadline, base::deadline_after(poll));
        if (claim.next_due) {
            until = std::min(
                until,
                base::deadline_after(
                    std::max(*claim.next_due - claim.now, std::chrono::microseconds(1000))
                )
            );
        }
        backend_->wake_hub().wait(ticket, request.queues, until, {});
    }
}

std::vector<Outcome> Queue::archive(std::span<const Lease> leases) const {
    return store::settle(*backend_, to_writes(leases, WriteKind::archive));
}

std::vector<Outcome> Queue::remove(std::span<const Lease> leases) const {
    return store::settle(*backend_, to_writes(leases, WriteKind::remove));
}

std::vector<Outcome> Queue::release(std::span<const Lease> leases, Duration delay) const {
    model::check_delay("delay", delay);
    return store::settle(*backend_, to_writes(leases, WriteKind::release, delay));
}

std::vector<Outcome> Queue::extend(std::span<const Lease> leases, Duration lease) const {
    model::check_delay("lease", lease);
    return store::settle(*backend_, to_writes(leases, WriteKind::extend, lease));
}

std::vector<Outcome> Queue::fail(
    std::span<const Lease> leases, const std::string& error, Duration delay
) const {
    model::check_delay("delay", delay);
    return store::settle(
        *backend_, to_writes(leases, WriteKind::fail, delay, model::storable_text(error))
    );
}

Outcome Queue::archive(const Message& message) const {
    return archive(one(message.lease())).front();
}
Outcome Queue::remove(const Message& message) const {
    return remove(one(message.lease())).front();
}
Outcome Queue::release(const Message& message, Duration delay) const {
    return release(one(message.lease()), delay).front();
}
Outcome Queue::extend(const Message& message, Duration lease) const {
    return extend(one(message.lease()), lease).front();
}
Outcome Queue::fail(const Message& message, const std::string& error, Duration delay) const {
    return fail(one(message.lease()), error, delay).front();
}

QueueInfo Queue::info() const {
    auto found = retrying(*backend_, [&] { return backend_->find_queue(name_); });
    if (found) return std::move(*found);
    throw Error(
        ErrorCode::queue_not_found, fmt::format("queue '{}' does not exist: create it first", name_)
    );
}

QueueStats Queue::stats() const {
    auto found =
        retrying(*backend_, [&] { return backend_->queue_stats(name_, model::count_limit); });
    if (!found.empty()) return std::move(found.front());
    throw Error(
        ErrorCode::queue_not_found, fmt::format("queue '{}' does not exist: create it first", name_)
    );
}

std::optional<Message> Queue::get(MessageId id) const {
    return retrying(*backend_, [&] { return backend_->find_message(name_, id); });
}

std::vector<Message> Queue::list(MessageState state, const PageRequest& page) const {
    model::check_page(page);
    return retrying(*backend_, [&] { return backend_->list_messages(name_, state, page); });
}

std::vector<ArchivedMessage> Queue::archived(ArchiveFilter filter, const PageRequest& page) const {
    model::check_page(page);
    return retrying(*backend_, [&] { return backend_->list_archive(name_, filter, page); });
}

void Queue::pause() const {
    retrying(*backend_, [&] { return backend_->set_queue_paused(name_, true); });
}

void Queue::resume() const {
    retrying(*backend_, [&] { return backend_->set_queue_paused(name_, false); });
}

std::int64_t Queue::purge() const {
    return retrying(*backend_, [&] { return backend_->purge_queue(name_); });
}

void Queue::replay(MessageId id) const {
    if (id && retrying(*backend_, [&] { return backend_->replay(name_, id); }) == 1) return;
    throw Error(
        ErrorCode::message_not_found,
        fmt::format("message {} is not in the archive of queue '{}'", id.value(), name_)
    );
}

std::int64_t Queue::replay_dead() const {
    return retrying(*backend_, [&] { return backend_->replay(name_, {}); });
}

std::int64_t Queue::purge_archive(ArchiveFilter filter) const {
    return retrying(*backend_, [&] { return backend_->purge_archive(name_, filter); });
}

}  // namespace pawl
