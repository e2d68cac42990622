#include <chrono>
#include <fmt/format.h>
#include <pawl/queue.h>

#include "base/deadline.h"
#include "engine/open_store.h"
#include "engine/settle.h"
#include "model/check.h"
#include "model/counts.h"
#include "model/rules.h"
#include "model/texts.h"
#include "seam/backend.h"

namespace pawl::inline v0 {

using engine::retrying;
using seam::Write;
using seam::WriteAction;

namespace {

using Clock = std::chrono::steady_clock;

// The longest poll interval if other processes cannot wake this one.
constexpr Duration poll_without_notify = 500ms;

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

std::vector<seam::WriteOutcome> settle(
    seam::Backend& backend,
    const std::string& queue,
    std::span<const Lease> leases,
    const WriteAction& action
) {
    const auto named = std::make_shared<const std::string>(queue);
    std::vector<Write> writes;
    writes.reserve(leases.size());
    for (const Lease& lease : leases) writes.push_back({lease, action, {}, named});
    return engine::settle(backend, writes);
}

// Throws for outcomes other than done and lease_lost.
Outcome outcome_of_one(const seam::WriteOutcome& outcome) {
    switch (outcome.status) {
        case seam::WriteStatus::done:
            return Outcome::done;
        case seam::WriteStatus::lease_lost:
        case seam::WriteStatus::cancelled:
        case seam::WriteStatus::busy:  // engine::settle() waits for these
            return Outcome::lease_lost;
        case seam::WriteStatus::rejected:
            break;
    }
    throw Error(outcome.code, outcome.error);
}

// Returns refusals as outcomes: one refused message must not hide the outcomes of the others.
Outcome outcome_of_many(const seam::WriteOutcome& outcome) {
    const bool refused = outcome.status == seam::WriteStatus::rejected;
    if (refused && outcome.code == ErrorCode::workflow_queue) return Outcome::workflow_queue;
    if (refused && outcome.code == ErrorCode::message_not_found) return Outcome::other_queue;
    return outcome_of_one(outcome);
}

std::vector<Outcome> settle_many(
    seam::Backend& backend,
    const std::string& queue,
    std::span<const Lease> leases,
    const WriteAction& action
) {
    std::vector<Outcome> outcomes;
    outcomes.reserve(leases.size());
    for (const auto& outcome : settle(backend, queue, leases, action))
        outcomes.push_back(outcome_of_many(outcome));
    return outcomes;
}

Outcome settle_one(
    seam::Backend& backend, const std::string& queue, const Lease& lease, const WriteAction& action
) {
    return outcome_of_one(settle(backend, queue, {&lease, 1}, action).front());
}

WriteAction released(Duration delay) {
    model::check_delay("delay", delay);
    return seam::Release{delay};
}

WriteAction extended(Duration lease) {
    model::check_delay("lease", lease);
    return seam::Extend{lease};
}

WriteAction failed(std::string_view error, Duration delay) {
    model::check_delay("delay", delay);
    return seam::Fail{model::storable_text(std::string(error)), delay};
}

// The first claim finds the queue by its name, on PostgreSQL in the same round trip. The next ones
// use its id.
seam::Claim claim_from(
    seam::Backend& backend, const std::string& queue, seam::ClaimRequest& request
) {
    if (!request.queues.empty()) return backend.claim(request);
    seam::Dequeued first = backend.dequeue(queue, request.max_messages, request.lease);
    request.queues = {first.queue};
    return std::move(first.claim);
}

}  // namespace

MessageId Queue::enqueue(const Json& payload, const EnqueueOptions& options) const {
    const NewMessage message{payload, options};
    return enqueue(std::span(&message, 1)).front();
}

std::vector<MessageId> Queue::enqueue(std::span<const NewMessage> messages) const {
    check_batch(messages, store_->backend()->options().max_payload_bytes);
    if (messages.empty()) return {};
    return store_->retrying([&](auto& backend) { return backend.enqueue(name_, messages); });
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
    check_batch(messages, store_->backend()->options().max_payload_bytes);
    if (messages.empty()) return {};
    return store_->backend()->enqueue_in(transaction, name_, messages);
}

std::vector<Message> Queue::dequeue(const DequeueOptions& options) const {
    constexpr int most = model::rules::max_batch;
    if (options.max_messages < 1 || options.max_messages > most)
        model::refuse(fmt::format("max_messages must be 1 to {}", most));
    if (options.lease) model::check_positive("lease", *options.lease);
    model::check_delay("wait", options.wait);

    const auto deadline = base::deadline_after(options.wait);
    seam::Backend& backend = *store_->backend();
    const Duration poll = backend.capabilities().remote_wakeups
                              ? backend.options().poll_interval
                              : std::min(backend.options().poll_interval, poll_without_notify);
    seam::ClaimRequest request;
    request.max_messages = options.max_messages;
    request.lease = options.lease;
    while (true) {
        const bool waits = Clock::now() < deadline;
        const auto ticket = waits ? backend.wake_hub().ticket() : 0;
        seam::Claim claim =
            store_->retrying([&](auto& store) { return claim_from(store, name_, request); });
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
        const seam::WakeTopic topic = request.queues.front();
        backend.wake_hub().wait(ticket, std::span(&topic, 1), until, {});
    }
}

std::vector<Outcome> Queue::archive(std::span<const Lease> leases) const {
    return settle_many(*store_->backend(), name_, leases, seam::Archive{});
}
std::vector<Outcome> Queue::remove(std::span<const Lease> leases) const {
    return settle_many(*store_->backend(), name_, leases, seam::Remove{});
}
std::vector<Outcome> Queue::release(std::span<const Lease> leases, Duration delay) const {
    return settle_many(*store_->backend(), name_, leases, released(delay));
}
std::vector<Outcome> Queue::extend(std::span<const Lease> leases, Duration lease) const {
    return settle_many(*store_->backend(), name_, leases, extended(lease));
}
std::vector<Outcome> Queue::fail(
    std::span<const Lease> leases, std::string_view error, Duration delay
) const {
    return settle_many(*store_->backend(), name_, leases, failed(error, delay));
}

Outcome Queue::archive(const Message& message) const {
    return settle_one(*store_->backend(), name_, message.lease(), seam::Archive{});
}
Outcome Queue::remove(const Message& message) const {
    return settle_one(*store_->backend(), name_, message.lease(), seam::Remove{});
}
Outcome Queue::release(const Message& message, Duration delay) const {
    return settle_one(*store_->backend(), name_, message.lease(), released(delay));
}
Outcome Queue::extend(const Message& message, Duration lease) const {
    return settle_one(*store_->backend(), name_, message.lease(), extended(lease));
}
Outcome Queue::fail(const Message& message, std::string_view error, Duration delay) const {
    return settle_one(*store_->backend(), name_, message.lease(), failed(error, delay));
}

QueueInfo Queue::info() const {
    auto found = store_->retrying([&](auto& backend) { return backend.find_queue(name_); });
    if (found) return std::move(*found);
    throw Error(ErrorCode::queue_not_found, fmt::format(model::texts::queue_missing, name_, name_));
}

QueueStats Queue::stats() const {
    auto found = store_->retrying([&](auto& backend) {
        return backend.queue_stats(name_, model::rules::count_limit);
    });
    if (!found.empty()) return std::move(found.front());
    throw Error(ErrorCode::queue_not_found, fmt::format(model::texts::queue_missing, name_, name_));
}

std::optional<Message> Queue::find(MessageId id) const {
    return store_->retrying([&](auto& backend) { return backend.find_message(name_, id); });
}

std::vector<Message> Queue::list(MessageState state, const PageRequest& page) const {
    model::check_page_limit(page.limit);
    return store_->retrying([&](auto& backend) { return backend.list_messages(name_, state, page); }
    );
}

std::vector<ArchivedMessage> Queue::archived(ArchiveFilter filter, const PageRequest& page) const {
    model::check_page_limit(page.limit);
    return store_->retrying([&](auto& backend) { return backend.list_archive(name_, filter, page); }
    );
}

void Queue::pause() const {
    store_->retrying([&](auto& backend) { return backend.set_queue_paused(name_, true); });
}

void Queue::resume() const {
    store_->retrying([&](auto& backend) { return backend.set_queue_paused(name_, false); });
}

std::int64_t Queue::purge() const {
    return store_->retrying([&](auto& backend) { return backend.purge_queue(name_); });
}

void Queue::replay(MessageId id) const {
    if (id && store_->retrying([&](auto& backend) { return backend.replay(name_, id); }) == 1)
        return;
    throw Error(
        ErrorCode::message_not_found,
        fmt::format("message {} is not in the archive of queue '{}'", id.value(), name_)
    );
}

std::int64_t Queue::replay_dead() const {
    return store_->retrying([&](auto& backend) { return backend.replay(name_, {}); });
}

std::int64_t Queue::purge_archive(ArchiveFilter filter) const {
    return store_->retrying([&](auto& backend) { return backend.purge_archive(name_, filter); });
}

}  // namespace pawl::inline v0
