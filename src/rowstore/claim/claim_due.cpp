// The due rows of a claim: rows whose delay or lease has ended.
#include <algorithm>
#include <fmt/format.h>

#include "model/event_kinds.h"
#include "model/rules.h"
#include "model/texts.h"
#include "rowstore/claim/claim_prefetch.h"
#include "rowstore/claim/claim_transaction.h"
#include "rowstore/statements.h"

namespace pawl::rowstore {

namespace {

const store::Statement& due_statement(const ScopedQueue& queue) {
    return queue.of_workflow ? sql::due_runs : sql::due_messages;
}

}  // namespace

// Reads at most max_messages rows of each queue, so that a million rows that become due at the same
// time stay cheap.
void ClaimTransaction::collect_due() {
    if (session_.round_trips() == RoundTrips::costly) {
        for (const ScopedQueue* queue : find_queues_with_due()) collect_due(*queue);
    } else {
        for (const ScopedQueue& queue : scope_.queues) collect_due(queue);
    }
    end_exhausted();
}

void ClaimTransaction::collect_due(const ScopedQueue& queue) {
    if (queue.of_flow) {
        collect_due_tasks(queue);
    } else {
        collect_due_messages(queue);
    }
}

std::vector<const ScopedQueue*> ClaimTransaction::find_queues_with_due() {
    std::vector<const ScopedQueue*> found;
    if (!reads_due_ahead(request_)) prefetch_next_due(session_, scope_.queues, Timestamp::min());
    for (const ScopedQueue& queue : scope_.queues) {
        const auto first = next_due_of(session_, queue, Timestamp::min());
        if (first && *first <= now_) {
            found.push_back(&queue);
        } else if (first && (!earliest_ || *first < *earliest_)) {
            earliest_ = first;
        }
    }
    has_due_ = !found.empty();
    for (const ScopedQueue* queue : found) {
        if (queue->lane) {
            session_.prefetch(sql::due_lane_tasks, queue->id, *queue->lane, now_, remaining_);
        } else if (queue->of_flow) {
            session_.prefetch(sql::due_tasks, queue->id, now_, remaining_);
        } else {
            session_.prefetch(due_statement(*queue), queue->id, now_, remaining_);
        }
    }
    return found;
}

void ClaimTransaction::collect_due_messages(const ScopedQueue& queue) {
    Rows rows = session_.query(due_statement(queue), queue.id, now_, remaining_);
    using Row = store::row::DueMessage;
    while (rows.next()) {
        const bool progressed = rows.flag(Row::progressed);
        Candidate candidate{
            rows.id<MessageId>(Row::message_id), rows.number(Row::priority), &queue, progressed};
        if (rows.flag(Row::is_leased))
            candidate.lost =
                LostLease{rows.number(Row::delivery), rows.id<WorkerId>(Row::worker_id)};
        const int strikes = progressed ? 0 : rows.number(Row::strikes);
        if (strikes >= queue.max_strikes) {
            poison_.push_back({candidate.id, strikes, queue.id});
        } else {
            add_due(candidate, strikes);
        }
    }
}

// A crash of the worker that holds a task uses no attempt: strikes limit it. The lease of a poller
// is the task's timeout, so its attempts, which count its starts, limit it.
std::optional<std::string> ClaimTransaction::exhaustion_reason(
    const LostLease& lost, const ScopedQueue& queue, int strikes, int attempts, int max_attempts
) {
    if (lost.worker && strikes >= queue.max_strikes)
        return "poison: " + fmt::format(model::texts::unreported, strikes);
    if (!lost.worker && attempts >= max_attempts)
        return fmt::format(model::texts::task_unreported, attempts);
    return std::nullopt;
}

void ClaimTransaction::collect_due_tasks(const ScopedQueue& queue) {
    const FlowPlan& plan = write_.flows.get(session_, queue.id);
    Rows rows = queue.lane
                    ? session_.query(sql::due_lane_tasks, queue.id, *queue.lane, now_, remaining_)
                    : session_.query(sql::due_tasks, queue.id, now_, remaining_);
    using Row = store::row::DueTask;
    while (rows.next()) {
        Candidate candidate{
            rows.id<MessageId>(Row::message_id), rows.number(Row::priority), &queue, false};
        if (rows.flag(Row::is_leased))
            candidate.lost =
                LostLease{rows.number(Row::delivery), rows.id<WorkerId>(Row::worker_id)};
        const TaskKey key{
            queue.id,
            rows.id<RunId>(Row::run_id),
            rows.number(Row::step_index),
            rows.number(Row::task_index),
            candidate.id};
        std::optional<int> of_run;
        if (!rows.null(Row::max_attempts)) of_run = rows.number(Row::max_attempts);
        std::optional<std::string> why;
        if (candidate.lost && !rows.null(Row::attempts)) {
            why = exhaustion_reason(
                *candidate.lost,
                queue,
                rows.number(Row::strikes),
                rows.number(Row::attempts),
                plan.max_attempts(key.step, of_run)
            );
        }
        if (why) {
            exhausted_.push_back({key, *candidate.lost, std::move(*why), queue.audit});
        } else {
            add_due(candidate, rows.number(Row::strikes));
        }
    }
}

void ClaimTransaction::add_due(const Candidate& candidate, int strikes) {
    due_.push_back(candidate);
    if (strikes >= model::rules::suspect_strikes && (!suspect_ || candidate.id < suspect_->id))
        suspect_ = candidate;
}

// Exhausted rows may have filled the limit of the search, so there may be more due rows. Ending a
// task may delete other messages of its run; those are not delivered.
void ClaimTransaction::end_exhausted() {
    if (!poison_.empty() || !exhausted_.empty()) claim_.more = true;
    std::ranges::sort(poison_, {}, &Poison::message);  // the same order of events on every store
    for (const Poison& poison : poison_) {
        std::string reason = settler_.bury_poison(poison.message, poison.strikes);
        claim_.poisoned.push_back({poison.message, poison.queue, std::move(reason)});
    }
    TaskSettler tasks(write_);
    for (const auto& [task, lost, why, audit] : exhausted_) {
        if (!session_.query(sql::claimed_message, task.message).next()) continue;
        if (model::is_audited(audit, model::EventKind::lease_lost))
            add_lost_lease(task.run, lost, task_data(task));
        tasks.fail_exhausted(task, why);
    }
}

}  // namespace pawl::rowstore
