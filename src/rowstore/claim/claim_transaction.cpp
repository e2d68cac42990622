#include "rowstore/claim/claim_transaction.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <tuple>
#include <utility>

#include "model/event_data.h"
#include "model/event_kinds.h"
#include "model/rules.h"
#include "model/texts.h"
#include "rowstore/claim/start_runs.h"
#include "rowstore/claim/start_tasks.h"
#include "rowstore/statements.h"

namespace pawl::rowstore {

namespace {

std::int64_t in_microseconds(Duration duration) {
    return std::chrono::microseconds(duration).count();
}

}  // namespace

ClaimTransaction::ClaimTransaction(
    WriteScope& scope, const seam::ClaimRequest& request, ClaimScope queues
)
    : write_(scope),
      session_(scope.session),
      request_(request),
      scope_(std::move(queues)),
      now_(scope.now),
      settler_(scope),
      remaining_(std::max(request.max_messages, 0)) {}

seam::Claim ClaimTransaction::claim() {
    claim_.now = now_;
    claim_.after = scope_.after;
    claim_.more = scope_.more;
    claim_.messages.reserve(static_cast<std::size_t>(std::min(remaining_, 1000)));
    claim_.queues.reserve(claim_.messages.capacity());
    collect_due();
    if (suspect_) {
        take(*suspect_);
        remaining_ = 0;
    } else if (scope_.queues.size() == 1 && due_.empty() && !scope_.queues.front().lane) {
        claim_usual();
    } else {
        claim_rounds();
    }
    if (remaining_ > 0) claim_.next_due = find_next_due(session_, scope_.queues, now_);
    sort_by_priority();
    if (request_.work == seam::Work::runs) start_runs();
    if (request_.work == seam::Work::tasks) start_tasks();
    return std::move(claim_);
}

// Delays and leases that have ended: at most max_messages of each queue, so that a million that end
// at once stay cheap.
void ClaimTransaction::collect_due() {
    for (const ScopedQueue& queue : scope_.queues) {
        if (queue.of_flow) {
            collect_due_tasks(queue);
        } else {
            collect_due_messages(queue);
        }
    }
    end_hopeless();
}

void ClaimTransaction::collect_due_messages(const ScopedQueue& queue) {
    Rows rows = session_.query(
        queue.of_workflow ? sql::due_runs : sql::due_messages, queue.id, now_, remaining_
    );
    while (rows.next()) {
        const bool progressed = queue.of_workflow && rows.flag(3);
        Candidate candidate{rows.id<MessageId>(0), rows.number(1), &queue, progressed};
        const int lost = queue.of_workflow ? 4 : 3;  // and the two columns behind it
        if (rows.flag(lost))
            candidate.lost = LostLease{rows.number(lost + 1), rows.id<WorkerId>(lost + 2)};
        const int strikes = progressed ? 0 : rows.number(2);
        if (strikes >= queue.max_strikes) {
            poison_.push_back({candidate.id, strikes, queue.id});
        } else {
            add_due(candidate, strikes);
        }
    }
}

// A crash of the worker that holds a task uses no attempt: strikes decide. A poller's lease is the
// task's time, so its attempts, which are its starts, decide.
std::optional<std::string> ClaimTransaction::no_hope(
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
    while (rows.next()) {
        Candidate candidate{rows.id<MessageId>(0), rows.number(1), &queue, false};
        if (rows.flag(8)) candidate.lost = LostLease{rows.number(9), rows.id<WorkerId>(10)};
        const TaskKey key{
            queue.id, rows.id<RunId>(3), rows.number(4), rows.number(5), candidate.id};
        std::optional<int> of_run;
        if (!rows.null(7)) of_run = rows.number(7);
        std::optional<std::string> why;
        if (candidate.lost && !rows.null(6)) {
            why = no_hope(
                *candidate.lost,
                queue,
                rows.number(2),
                rows.number(6),
                plan.max_attempts(key.step, of_run)
            );
        }
        if (why) {
            hopeless_.push_back({key, *candidate.lost, std::move(*why), queue.audit});
        } else {
            add_due(candidate, rows.number(2));
        }
    }
}

void ClaimTransaction::add_due(const Candidate& candidate, int strikes) {
    due_.push_back(candidate);
    if (strikes >= model::rules::suspect_strikes && (!suspect_ || candidate.id < suspect_->id))
        suspect_ = candidate;
}

// What is hopeless may have filled the look: there may be more due rows behind it. And its end may
// take other messages of its run away; what is gone is not handed out.
void ClaimTransaction::end_hopeless() {
    if (!poison_.empty() || !hopeless_.empty()) claim_.more = true;
    for (const Poison& poison : poison_) {
        std::string reason = settler_.bury_poison(poison.message, poison.strikes);
        claim_.poisoned.push_back({poison.message, poison.queue, std::move(reason)});
    }
    TaskSettler tasks(write_);
    for (const auto& [task, lost, why, audit] : hopeless_) {
        if (!session_.query(sql::claimed_message, task.message).next()) continue;
        if (model::is_audited(audit, model::EventKind::lease_lost))
            add_lost_lease(task.run, lost, task_data(task));
        tasks.give_up(task, why);
    }
}

void ClaimTransaction::claim_usual() {
    const ScopedQueue& queue = scope_.queues.front();
    const auto lease = in_microseconds(queue.lease);
    const int found =
        read_all(session_.query(sql::read_ready, queue.id, remaining_, now_, lease, request_.worker)
        );
    if (found == 0) return;
    session_.post(sql::claim_ready, queue.id, found, now_, lease, request_.worker);
    remaining_ -= found;
}

void ClaimTransaction::claim_rounds() {
    while (remaining_ > 0) {
        const Level level = top_level();
        if (due_.empty() && level.queues.empty()) return;
        if (due_.empty() && !level.queues.front()->lane) {
            claim_level(level);
            continue;
        }
        const std::vector<Candidate> picked = merge_due(level);
        for (const Candidate& candidate : picked) take(candidate);
        remaining_ -= static_cast<int>(picked.size());
    }
}

ClaimTransaction::Level ClaimTransaction::top_level() {
    Level level;
    for (const ScopedQueue& queue : scope_.queues) {
        Rows rows = queue.lane ? session_.query(sql::top_lane_priority, queue.id, *queue.lane)
                               : session_.query(sql::top_priority, queue.id);
        if (!rows.next()) continue;
        const int priority = rows.number(0);
        if (!level.queues.empty() && priority < level.priority) continue;
        if (priority > level.priority) level.queues.clear();
        level.priority = priority;
        level.queues.push_back(&queue);
    }
    return level;
}

// Fairly shared among the queues that have it.
void ClaimTransaction::claim_level(const Level& level) {
    const auto count = static_cast<int>(level.queues.size());
    const int share = (remaining_ + count - 1) / count;
    for (const ScopedQueue* queue : level.queues) {
        const int wanted = std::min(share, remaining_);
        const auto lease = in_microseconds(queue->lease);
        const int found = read_all(session_.query(
            sql::read_level, queue->id, level.priority, wanted, now_, lease, request_.worker
        ));
        if (found == 0) continue;
        session_.post(
            sql::claim_level, queue->id, level.priority, found, now_, lease, request_.worker
        );
        remaining_ -= found;
    }
}

// The level's rows, merged with the due rows of at least that priority.
std::vector<ClaimTransaction::Candidate> ClaimTransaction::merge_due(const Level& level) {
    const auto before_level = std::partition(due_.begin(), due_.end(), [&](const Candidate& due) {
        return !level.queues.empty() && due.priority < level.priority;
    });
    std::vector<Candidate> picked(before_level, due_.end());
    due_.erase(before_level, due_.end());
    const auto count = static_cast<int>(level.queues.size());
    for (const ScopedQueue* queue : level.queues) {
        const int share = (remaining_ + count - 1) / count;
        Rows rows =
            queue->lane
                ? session_.query(
                      sql::ready_lane_messages, queue->id, *queue->lane, level.priority, share
                  )
                : session_.query(sql::ready_messages, queue->id, level.priority, share);
        while (rows.next()) picked.push_back({rows.id<MessageId>(0), level.priority, queue, false});
    }

    std::ranges::sort(picked, {}, [](const Candidate& c) { return std::tuple(-c.priority, c.id); });
    if (picked.size() > static_cast<std::size_t>(remaining_))
        picked.resize(static_cast<std::size_t>(remaining_));  // so this is the last round
    return picked;
}

void ClaimTransaction::take(const Candidate& candidate) {
    session_.post(
        sql::claim_message,
        candidate.id,
        candidate.progressed,
        now_,
        in_microseconds(candidate.queue->lease),
        request_.worker
    );
    {
        Rows rows = session_.query(sql::claimed_message, candidate.id);
        if (!rows.next()) return;
        read(rows);
    }
    if (!candidate.lost) return;
    claim_.taken_over.push_back({candidate.id, candidate.lost->worker});
    const bool audited = model::is_audited(candidate.queue->audit, model::EventKind::lease_lost);
    if (!candidate.queue->of_flow) {
        if (audited && candidate.queue->of_workflow)
            add_lost_lease(RunId(candidate.id.value()), *candidate.lost, "{}");
        return;
    }
    const TaskKey& task = tasks_.back();
    if (audited) add_lost_lease(task.run, *candidate.lost, task_data(task));
    if (candidate.lost->worker) session_.post(sql::unstart_task, task.run, task.step, task.task);
}

void ClaimTransaction::add_lost_lease(RunId run, const LostLease& lost, std::string_view data) {
    session_.post(
        sql::add_event,
        run,
        to_string(model::EventKind::lease_lost),
        data,
        lost.worker,
        lost.delivery,
        now_
    );
}

std::string ClaimTransaction::task_data(const TaskKey& task) {
    const std::string& slug = write_.flows.get(session_, task.workflow).slug(task.step);
    Rows rows = session_.query(sql::find_task, task.run, task.step, task.task);
    const int attempts = rows.next() ? rows.number(1) : 0;
    return model::event_data({.step = slug, .task_index = task.task, .attempt = attempts});
}

// Returns how many there are. Closes the statement: the rows are updated next.
int ClaimTransaction::read_all(Rows&& rows) {
    int count = 0;
    for (; rows.next(); ++count) read(rows);
    return count;
}

void ClaimTransaction::read(Rows& rows) {
    Message& message = claim_.messages.emplace_back();
    message.id = rows.id<MessageId>(0);
    claim_.queues.push_back(rows.id<QueueId>(1));
    message.priority = rows.number(2);
    message.delivery = rows.number(3);
    message.strikes = rows.number(4);
    message.attempts = rows.number(5);
    message.state = MessageState::leased;
    message.enqueued_at = rows.time(6);
    message.visible_at = rows.time(7);
    message.worker = request_.worker;
    message.last_error = rows.text(8);
    message.payload.text = rows.text(9);
    if (request_.work != seam::Work::tasks) return;
    tasks_.push_back(
        {claim_.queues.back(), rows.id<RunId>(10), rows.number(11), rows.number(12), message.id}
    );
}

// Each level comes out in order, but several queues may share one.
void ClaimTransaction::sort_by_priority() {
    const auto key = [&](std::size_t i) {
        return std::tuple(-claim_.messages[i].priority, claim_.messages[i].id);
    };
    std::vector<std::size_t> order(claim_.messages.size());
    std::iota(order.begin(), order.end(), 0);
    if (std::ranges::is_sorted(order, {}, key)) return;
    std::ranges::sort(order, {}, key);
    const auto in_order = [&](auto& values) {
        auto sorted = std::exchange(values, {});
        values.reserve(order.size());
        for (const std::size_t i : order) values.push_back(std::move(sorted[i]));
    };
    in_order(claim_.messages);
    in_order(claim_.queues);
    if (!tasks_.empty()) in_order(tasks_);
}

void ClaimTransaction::start_runs() {
    RunStarter runs(session_, request_.worker, now_);
    claim_.runs.resize(claim_.messages.size());
    for (std::size_t i = 0; i < claim_.messages.size(); ++i) {
        const ScopedQueue* const queue = find_workflow(claim_.queues[i]);
        if (queue != nullptr) claim_.runs[i] = runs.start(claim_.messages[i], queue->audit);
    }
}

void ClaimTransaction::start_tasks() {
    TaskStarter starter(write_, request_.worker);
    claim_.tasks.reserve(tasks_.size());
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
        auto started = starter.start(tasks_[i], claim_.messages[i]);
        if (!started) {
            throw Error(
                ErrorCode::database_error,
                fmt::format("message {} names no task", claim_.messages[i].id.value())
            );
        }
        claim_.tasks.push_back(std::move(*started));
    }
}

const ScopedQueue* ClaimTransaction::find_workflow(QueueId queue) const {
    const auto found = std::ranges::find(scope_.queues, queue, &ScopedQueue::id);
    return found != scope_.queues.end() && found->of_workflow ? &*found : nullptr;
}

std::optional<Timestamp> find_next_due(
    Session& session, const std::vector<ScopedQueue>& queues, Timestamp after
) {
    std::optional<Timestamp> earliest;
    for (const ScopedQueue& queue : queues) {
        Rows rows = queue.lane ? session.query(sql::next_lane_due, queue.id, *queue.lane, after)
                               : session.query(sql::next_due, queue.id, after);
        if (rows.next() && (!earliest || rows.time(0) < *earliest)) earliest = rows.time(0);
    }
    return earliest;
}

}  // namespace pawl::rowstore
