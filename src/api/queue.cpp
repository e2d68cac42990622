#include <chrono>
#include <fmt/format.h>
#include <pawl/queue.h>

#include "base/deadline.h"
#include "engine/reconnect.h"
#include "model/check.h"
#include "model/counts.h"
#include "seam/backend.h"

namespace pawl {

using engine::retrying;
using seam::Write;
using seam::WriteKind;

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

struct Settlement {
    WriteKind kind;
    Duration delay = {};
    std::string reason = {};
};

std::vector<seam::WriteOutcome> settle(
    seam::Backend& backend,
    const std::string& queue,
    std::span<const Lease> leases,
    const Settlement& settlement
) {
    const auto named = std::make_shared<const std::string>(queue);
    std::vector<Write> writes;
    writes.reserve(leases.size());
    for (const Lease& lease : leases) {
        writes.push_back(
            seam::settle_write(settlement.kind, lease, settlement.delay, settlement.reason)
        );
        writes.back().queue = named;
    }
    return engine::settle(backend, writes);
}

// Throws for what is neither done nor late.
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

// One refused message does not hide the outcomes of the others.
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
    const Settlement& settlement
) {
    std::vector<Outcome> outcomes;
    outcomes.reserve(leases.size());
    for (const auto& outcome : settle(backend, queue, leases, settlement))
        outcomes.push_back(outcome_of_many(outcome));
    return outcomes;
}

Outcome settle_one(
    seam::Backend& backend,
    const std::string& queue,
    const Lease& lease,
    const Settlement& settlement
) {
    return outcome_of_one(settle(backend, queue, {&lease, 1}, settlement).front());
}

Settlement released(Duration delay) {
    model::check_delay("delay", delay);
    return {WriteKind::release, delay};
}

Settlement extended(Duration lease) {
    model::check_delay("lease", lease);
    return {WriteKind::extend, lease};
}

Settlement failed(const std::string& error, Duration delay) {
    model::check_delay("delay", delay);
    return {WriteKind::fail, delay, model::storable_text(error)};
}

// A plain dequeue has no way to end a run or a task.
QueueId dequeuable(const QueueInfo& queue) {
    if (queue.kind == QueueKind::plain) return queue.id;
    const std::string_view what =
        queue.kind == QueueKind::flow
            ? "the tasks of a flow: take them with poll_for_tasks()"
            : "the runs of a workflow: a worker with a handler takes them";
    throw Error(ErrorCode::workflow_queue, fmt::format("queue '{}' carries {}", queue.name, what));
}

}  // namespace

Queue::Queue(std::shared_ptr<seam::Backend> backend, std::string name)
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
    const Duration poll = backend_->capabilities().remote_wakeups
                              ? backend_->options().poll_interval
                              : std::min(backend_->options().poll_interval, poll_deaf);
    seam::ClaimRequest request;
    request.queues = {dequeuable(info())};
    request.max_messages = options.max_messages;
    request.lease = options.lease;
    while (true) {
        const bool waits = Clock::now() < deadline;
        const auto ticket = waits ? backend_->wake_hub().ticket() : 0;
        seam::Claim claim = retrying(*backend_, [&] { return backend_->claim(request); });
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
    return settle_many(*backend_, name_, leases, {WriteKind::archive});
}
std::vector<Outcome> Queue::remove(std::span<const Lease> leases) const {
    return settle_many(*backend_, name_, leases, {WriteKind::remove});
}
std::vector<Outcome> Queue::release(std::span<const Lease> leases, Duration delay) const {
    return settle_many(*backend_, name_, leases, released(delay));
}
std::vector<Outcome> Queue::extend(std::span<const Lease> leases, Duration lease) const {
    return settle_many(*backend_, name_, leases, extended(lease));
}
std::vector<Outcome> Queue::fail(
    std::span<const Lease> leases, const std::string& error, Duration delay
) const {
    return settle_many(*backend_, name_, leases, failed(error, delay));
}

Outcome Queue::archive(const Message& message) const {
    return settle_one(*backend_, name_, message.lease(), {WriteKind::archive});
}
Outcome Queue::remove(const Message& message) const {
    return settle_one(*backend_, name_, message.lease(), {WriteKind::remove});
}
Outcome Queue::release(const Message& message, Duration delay) const {
    return settle_one(*backend_, name_, message.lease(), released(delay));
}
Outcome Queue::extend(const Message& message, Duration lease) const {
    return settle_one(*backend_, name_, message.lease(), extended(lease));
}
Outcome Queue::fail(const Message& message, const std::string& error, Duration delay) const {
    return settle_one(*backend_, name_, message.lease(), failed(error, delay));
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
