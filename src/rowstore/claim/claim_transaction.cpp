#include "rowstore/claim/claim_transaction.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <tuple>
#include <utility>

#include "model/event_data.h"
#include "model/event_kinds.h"
#include "rowstore/claim/claim_prefetch.h"
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
      runs_(scope.session, request.worker, scope.now),
      remaining_(std::max(request.max_messages, 0)),
      top_read_ahead_(
          scope.session.round_trips() == RoundTrips::costly && reads_top_ahead(request)
      ) {}

seam::Claim ClaimTransaction::claim() {
    claim_.now = now_;
    claim_.after = scope_.after;
    claim_.more = scope_.more;
    claim_.messages.reserve(static_cast<std::size_t>(std::min(remaining_, 1000)));
    claim_.queues.reserve(claim_.messages.capacity());
    collect_due();
    if (suspect_) {
        take({*suspect_});
        remaining_ = 0;
    } else if (scope_.queues.size() == 1 && due_.empty() && !scope_.queues.front().lane) {
        claim_single_queue();
    } else {
        claim_rounds();
    }
    if (remaining_ > 0) claim_.next_due = next_due();
    sort_by_priority();
    if (request_.work == seam::Work::runs) start_runs();
    if (request_.work == seam::Work::tasks) start_tasks();
    return std::move(claim_);
}

void ClaimTransaction::claim_single_queue() {
    const ScopedQueue& queue = scope_.queues.front();
    // The prefetched rows are older than the changes made by ending exhausted tasks: discard them.
    const bool costly = session_.round_trips() == RoundTrips::costly;
    if (costly && !(poison_.empty() && exhausted_.empty()))
        (void)session_.query(sql::read_ready, queue.id, remaining_);
    const int found =
        read_ready(session_.query(sql::read_ready, queue.id, remaining_), remaining_, queue.lease);
    if (found == 0) return;
    if (costly && queue.of_workflow)
        runs_.read_ahead(session_.query(sql::ready_runs, queue.id, remaining_));
    session_.post(
        sql::claim_ready, queue.id, found, now_, in_microseconds(queue.lease), request_.worker
    );
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
        take(picked);
        remaining_ -= static_cast<int>(picked.size());
    }
}

ClaimTransaction::Level ClaimTransaction::top_level() {
    Level level;
    if (!std::exchange(top_read_ahead_, false)) prefetch_top_priority(session_, scope_.queues);
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

// Each queue gets a fair share. A query must use the parameters with which it was announced, so it
// reads a whole share, of which the last queue may need less.
void ClaimTransaction::claim_level(const Level& level) {
    const auto count = static_cast<int>(level.queues.size());
    const int share = (remaining_ + count - 1) / count;
    const bool costly = session_.round_trips() == RoundTrips::costly;
    for (const ScopedQueue* queue : level.queues)
        session_.prefetch(sql::read_level, queue->id, level.priority, share);
    for (const ScopedQueue* queue : level.queues) {
        const int wanted = std::min(share, remaining_);
        const int asked = costly ? share : wanted;
        const int found = read_ready(
            session_.query(sql::read_level, queue->id, level.priority, asked), wanted, queue->lease
        );
        if (found == 0) continue;
        session_.post(
            sql::claim_level,
            queue->id,
            level.priority,
            found,
            now_,
            in_microseconds(queue->lease),
            request_.worker
        );
        remaining_ -= found;
    }
}

// The rows of the level, merged with the due rows of at least that priority.
std::vector<ClaimTransaction::Candidate> ClaimTransaction::merge_due(const Level& level) {
    const auto before_level = std::partition(due_.begin(), due_.end(), [&](const Candidate& due) {
        return !level.queues.empty() && due.priority < level.priority;
    });
    std::vector<Candidate> picked(before_level, due_.end());
    due_.erase(before_level, due_.end());
    const auto count = static_cast<int>(level.queues.size());
    const int share = count == 0 ? 0 : (remaining_ + count - 1) / count;
    for (const ScopedQueue* queue : level.queues) {
        if (queue->lane) {
            session_.prefetch(
                sql::ready_lane_messages, queue->id, *queue->lane, level.priority, share
            );
        } else {
            session_.prefetch(sql::ready_messages, queue->id, level.priority, share);
        }
    }
    for (const ScopedQueue* queue : level.queues) {
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
        picked.resize(static_cast<std::size_t>(remaining_));  // this is the last round
    return picked;
}

void ClaimTransaction::take(const std::vector<Candidate>& candidates) {
    for (const Candidate& candidate : candidates) {
        write_lease(candidate);
        session_.prefetch(sql::claimed_message, candidate.id);
        if (request_.work == seam::Work::runs && candidate.queue->of_workflow)
            runs_.prefetch(RunId(candidate.id.value()));
    }
    for (const Candidate& candidate : candidates) read_leased(candidate);
}

void ClaimTransaction::write_lease(const Candidate& candidate) {
    session_.post(
        sql::claim_message,
        candidate.id,
        candidate.progressed,
        now_,
        in_microseconds(candidate.queue->lease),
        request_.worker
    );
}

void ClaimTransaction::read_leased(const Candidate& candidate) {
    {
        Rows rows = session_.query(sql::claimed_message, candidate.id);
        if (!rows.next()) return;
        Message& message = read(rows);
        message.visible_at = rows.time(store::row::ClaimedMessage::visible_at);
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
    const int attempts = rows.next() ? rows.number(sql::row::FindTask::attempts) : 0;
    return model::event_data({.step = slug, .task_index = task.task, .attempt = attempts});
}

// Returns how many rows it read. Closes the statement, because the rows are updated next. A task
// has its own lease, unless a registered worker claims it: a worker extends its leases.
int ClaimTransaction::read_ready(Rows&& rows, int wanted, Duration lease) {
    using Row = store::row::ClaimedMessage;
    int count = 0;
    for (; count < wanted && rows.next(); ++count) {
        const bool own_lease = !request_.worker && !rows.null(Row::lease_ms);
        read(rows).visible_at = now_ + (own_lease ? Duration(rows.integer(Row::lease_ms)) : lease);
    }
    return count;
}

// Reads everything except the end of the lease.
Message& ClaimTransaction::read(Rows& rows) {
    using Row = store::row::ClaimedMessage;
    Message& message = claim_.messages.emplace_back();
    message.id = rows.id<MessageId>(Row::message_id);
    claim_.queues.push_back(rows.id<QueueId>(Row::queue_id));
    message.priority = rows.number(Row::priority);
    message.delivery = rows.number(Row::delivery);
    message.strikes = rows.number(Row::strikes);
    message.attempts = rows.number(Row::attempts);
    message.state = MessageState::leased;
    message.enqueued_at = rows.time(Row::enqueued_at);
    message.worker = request_.worker;
    message.last_error = rows.text(Row::last_error);
    message.payload.text = rows.text(Row::payload);
    if (request_.work == seam::Work::tasks)
        tasks_.push_back(
            {claim_.queues.back(),
             rows.id<RunId>(Row::run_id),
             rows.number(Row::step_index),
             rows.number(Row::task_index),
             message.id}
        );
    return message;
}

// Each level is in order, but several queues may share one.
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
    claim_.runs.resize(claim_.messages.size());
    if (session_.round_trips() == RoundTrips::costly) {
        for (std::size_t i = 0; i < claim_.messages.size(); ++i) {
            if (find_workflow(claim_.queues[i]) != nullptr)
                runs_.prefetch(RunId(claim_.messages[i].id.value()));
        }
    }
    for (std::size_t i = 0; i < claim_.messages.size(); ++i) {
        const ScopedQueue* const queue = find_workflow(claim_.queues[i]);
        if (queue != nullptr) claim_.runs[i] = runs_.start(i, claim_.messages[i], queue->audit);
    }
    runs_.load_steps(claim_.runs);
}

void ClaimTransaction::start_tasks() {
    TaskStarter starter(write_, request_.worker);
    for (const TaskKey& task : tasks_) starter.prefetch(task);
    claim_.tasks.reserve(tasks_.size());
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
        auto started = starter.start(tasks_[i], claim_.messages[i]);
        if (!started) {
            throw Error(
                ErrorCode::database_error,
                fmt::format("message {} has no task", claim_.messages[i].id.value())
            );
        }
        claim_.tasks.push_back(std::move(*started));
    }
}

const ScopedQueue* ClaimTransaction::find_workflow(QueueId queue) const {
    const auto found = std::ranges::find(scope_.queues, queue, &ScopedQueue::id);
    return found != scope_.queues.end() && found->of_workflow ? &*found : nullptr;
}

// Rows that this claim leased are among the leased rows now.
std::optional<Timestamp> ClaimTransaction::next_due() {
    if (session_.round_trips() == RoundTrips::free || has_due_) {
        prefetch_next_due(session_, scope_.queues, now_);
        return find_next_due(session_, scope_.queues, now_);
    }
    std::optional<Timestamp> earliest = earliest_;
    for (const Message& message : claim_.messages) {
        if (!earliest || message.visible_at < *earliest) earliest = message.visible_at;
    }
    return earliest;
}

}  // namespace pawl::rowstore
