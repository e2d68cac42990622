#include "sqlite/claimer.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "generated/sqlite_sql.h"
#include "sqlite/claimed_runs.h"

namespace pawl::sqlite {

namespace {

constexpr int suspicious_strikes = 2;  // came back twice without a report: handed out alone

}  // namespace

Claimer::Claimer(
    Session& session, const store::ClaimRequest& request, ClaimScope scope, Timestamp now
)
    : session_(session),
      request_(request),
      scope_(std::move(scope)),
      now_(now),
      settler_(session, now),
      remaining_(std::max(request.max_messages, 0)) {}

store::Claim Claimer::claim() {
    claim_.now = now_;
    claim_.after = scope_.after;
    claim_.more = scope_.more;
    claim_.messages.reserve(static_cast<std::size_t>(std::min(remaining_, 1000)));
    claim_.queues.reserve(claim_.messages.capacity());
    collect_due();
    if (suspect_) {
        take(*suspect_);
        remaining_ = 0;
    } else if (scope_.queues.size() == 1 && due_.empty()) {
        claim_usual();
    } else {
        claim_rounds();
    }
    if (remaining_ > 0) claim_.next_due = find_next_due(session_, scope_.queues, now_);
    sort_by_priority();
    if (request_.with_runs) start_runs();
    return std::move(claim_);
}

// Delays and leases that have ended: at most max_messages of each queue, so that a million that end
// at once stay cheap. Poison goes to the dead letters here.
void Claimer::collect_due() {
    std::vector<std::pair<MessageId, int>> poison;
    for (const ScopedQueue& queue : scope_.queues) {
        Rows rows = session_.query(
            queue.of_workflow ? sql::due_runs : sql::due_messages, queue.id, now_, remaining_
        );
        while (rows.next()) {
            const bool progressed = queue.of_workflow && rows.flag(3);
            const Candidate candidate{rows.id<MessageId>(0), rows.number(1), &queue, progressed};
            const int strikes = progressed ? 0 : rows.number(2);
            if (strikes >= queue.max_strikes) {
                poison.emplace_back(candidate.id, strikes);
                continue;
            }
            due_.push_back(candidate);
            if (strikes >= suspicious_strikes && (!suspect_ || candidate.id < suspect_->id))
                suspect_ = candidate;
        }
    }
    // Poison may have filled the look: there may be more due rows behind it.
    if (!poison.empty()) claim_.more = true;
    for (const auto& [message, strikes] : poison) settler_.bury_poison(message, strikes);
}

void Claimer::claim_usual() {
    const ScopedQueue& queue = scope_.queues.front();
    Rows rows =
        session_.query(sql::claim_ready, queue.id, remaining_, now_ + queue.lease, request_.worker);
    while (rows.next()) {
        read(rows);
        --remaining_;
    }
}

void Claimer::claim_rounds() {
    while (remaining_ > 0) {
        const Level level = top_level();
        if (due_.empty()) {
            if (level.queues.empty()) return;
            claim_level(level);
            continue;
        }
        const std::vector<Candidate> picked = merge_due(level);
        for (const Candidate& candidate : picked) take(candidate);
        remaining_ -= static_cast<int>(picked.size());
    }
}

Claimer::Level Claimer::top_level() {
    Level level;
    for (const ScopedQueue& queue : scope_.queues) {
        Rows rows = session_.query(sql::top_priority, queue.id);
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
void Claimer::claim_level(const Level& level) {
    const auto count = static_cast<int>(level.queues.size());
    const int share = (remaining_ + count - 1) / count;
    for (const ScopedQueue* queue : level.queues) {
        Rows rows = session_.query(
            sql::claim_level,
            queue->id,
            level.priority,
            std::min(share, remaining_),
            now_ + queue->lease,
            request_.worker
        );
        while (rows.next()) {
            read(rows);
            --remaining_;
        }
    }
}

// The level's rows, merged with the due rows of at least that priority.
std::vector<Claimer::Candidate> Claimer::merge_due(const Level& level) {
    const auto before_level = std::partition(due_.begin(), due_.end(), [&](const Candidate& due) {
        return !level.queues.empty() && due.priority < level.priority;
    });
    std::vector<Candidate> picked(before_level, due_.end());
    due_.erase(before_level, due_.end());
    const auto count = static_cast<int>(level.queues.size());
    for (const ScopedQueue* queue : level.queues) {
        const int share = (remaining_ + count - 1) / count;
        Rows rows = session_.query(sql::ready_messages, queue->id, level.priority, share);
        while (rows.next()) picked.push_back({rows.id<MessageId>(0), level.priority, queue, false});
    }

    std::ranges::sort(picked, {}, [](const Candidate& c) { return std::tuple(-c.priority, c.id); });
    if (picked.size() > static_cast<std::size_t>(remaining_))
        picked.resize(static_cast<std::size_t>(remaining_));  // so this is the last round
    return picked;
}

void Claimer::take(const Candidate& candidate) {
    session_.execute(
        sql::claim_message,
        candidate.id,
        candidate.progressed,
        now_ + candidate.queue->lease,
        request_.worker
    );
    Rows rows = session_.query(sql::claimed_message, candidate.id);
    if (rows.next()) read(rows);
}

void Claimer::read(Rows& rows) {
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
}

// Rounds come out in order, but `returning` promises none.
void Claimer::sort_by_priority() {
    const auto key = [&](std::size_t i) {
        return std::tuple(-claim_.messages[i].priority, claim_.messages[i].id);
    };
    std::vector<std::size_t> order(claim_.messages.size());
    std::iota(order.begin(), order.end(), 0);
    if (std::ranges::is_sorted(order, {}, key)) return;
    std::ranges::sort(order, {}, key);
    std::vector<Message> messages;
    std::vector<QueueId> queues;
    messages.reserve(order.size());
    queues.reserve(order.size());
    for (const std::size_t i : order) {
        messages.push_back(std::move(claim_.messages[i]));
        queues.push_back(claim_.queues[i]);
    }
    claim_.messages = std::move(messages);
    claim_.queues = std::move(queues);
}

void Claimer::start_runs() {
    ClaimedRuns runs(session_, request_.worker, now_);
    claim_.runs.resize(claim_.messages.size());
    for (std::size_t i = 0; i < claim_.messages.size(); ++i) {
        if (is_workflow(claim_.queues[i])) claim_.runs[i] = runs.start(claim_.messages[i]);
    }
}

bool Claimer::is_workflow(QueueId queue) const {
    const auto found = std::ranges::find(scope_.queues, queue, &ScopedQueue::id);
    return found != scope_.queues.end() && found->of_workflow;
}

std::optional<Timestamp> find_next_due(
    Session& session, const std::vector<ScopedQueue>& queues, Timestamp after
) {
    std::optional<Timestamp> earliest;
    for (const ScopedQueue& queue : queues) {
        Rows rows = session.query(sql::next_due, queue.id, after);
        if (rows.next() && (!earliest || rows.time(0) < *earliest)) earliest = rows.time(0);
    }
    return earliest;
}

}  // namespace pawl::sqlite
