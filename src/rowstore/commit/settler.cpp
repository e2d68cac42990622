#include "rowstore/commit/settler.h"

#include <fmt/format.h>

#include "model/event_kinds.h"
#include "model/texts.h"
#include "rowstore/statements.h"
#include "rowstore/store/row_store.h"

namespace pawl::rowstore {

using seam::Attempt;
using seam::Write;
using seam::WriteOutcome;
using seam::WriteStatus;

WriteOutcome Settler::settle(const Write& write, Attempt attempt) {
    if (write.queue && is_elsewhere(write)) return seam::refused_other_queue(write);
    if (apply(write) == Fence::held) return {};
    // A run or a task could not continue after these.
    if (write.is<seam::Archive, seam::Remove, seam::Fail, seam::Bury>() &&
        session_.query(sql::carries_run, write.lease.message).next())
        return seam::refused_workflow_message(write);
    return {explain(write, attempt), {}};
}

// A leased message does not change its queue.
bool Settler::is_elsewhere(const Write& write) {
    if (!named_queue_) named_queue_ = require_queue(session_, *write.queue);
    Rows rows = session_.query(sql::leased_from, write.lease.message, write.lease.delivery);
    return rows.next() && rows.id<QueueId>(0) != *named_queue_;
}

Fence Settler::apply(const Write& write) {
    return std::visit([&](const auto& action) { return apply(write, action); }, write.action);
}

// A batch is mostly of one queue, so the last message tells which way to try first.
Fence Settler::apply(const Write& write, const seam::Archive& /*archive*/) {
    const auto [message, delivery] = write.lease;
    if (!keeps_archive_) {
        if (session_.execute(sql::remove_unkept_message, message, delivery) > 0) return Fence::held;
        keeps_archive_ = true;
    }
    const auto kept = session_.execute(sql::keep_message, message, delivery, now_);
    const auto gone = session_.execute(sql::remove_plain_message, message, delivery);
    if (gone == 0) return Fence::lost;
    keeps_archive_ = kept > 0;
    return Fence::held;
}

Fence Settler::apply(const Write& write, const seam::Remove& /*remove*/) {
    const auto [message, delivery] = write.lease;
    return fence_of(session_.execute(sql::remove_plain_message, message, delivery));
}

Fence Settler::apply(const Write& write, const seam::Release& release) {
    const std::string_view state = release.delay > Duration::zero() ? "waiting" : "ready";
    Rows rows = session_.query(
        sql::release_message, write.lease.message, write.lease.delivery, state, now_ + release.delay
    );
    if (!rows.next()) return Fence::lost;
    given_back(rows);
    return Fence::held;
}

Fence Settler::apply(const Write& write, const seam::HandBack& /*hand_back*/) {
    Rows rows =
        session_.query(sql::hand_back_message, write.lease.message, write.lease.delivery, now_);
    if (!rows.next()) return Fence::lost;
    given_back(rows);
    return Fence::held;
}

void Settler::given_back(const Rows& rows) {
    wakeups_.add(rows.id<QueueId>(0));
    if (rows.null(1)) return;
    session_.post(sql::unstart_task, rows.id<RunId>(1), rows.number(2), rows.number(3));
}

Fence Settler::apply(const Write& write, const seam::Extend& extend) {
    return fence_of(session_.execute(
        sql::extend_message, write.lease.message, write.lease.delivery, now_ + extend.lease
    ));
}

Fence Settler::apply(const Write& write, const seam::Fail& fail) {
    int attempts = 0;
    int max_attempts = 0;
    {
        Rows rows = session_.query(
            sql::fail_message,
            write.lease.message,
            write.lease.delivery,
            std::string_view(fail.error),
            now_ + fail.retry_after
        );
        if (!rows.next()) return Fence::lost;
        wakeups_.add(rows.id<QueueId>(0));
        attempts = rows.number(1);
        max_attempts = rows.number(2);
    }
    if (max_attempts > 0 && attempts >= max_attempts)
        bury(write.lease.message, fmt::format(model::texts::failed_times, attempts, fail.error));
    return Fence::held;
}

Fence Settler::apply(const Write& write, const seam::Bury& dead) {
    {
        Rows rows = session_.query(sql::is_held_plain, write.lease.message, write.lease.delivery);
        if (!rows.next()) return Fence::lost;
    }
    bury(write.lease.message, dead.reason);
    return Fence::held;
}

Fence Settler::apply(const Write& write, const seam::Checkpoint& checkpoint) {
    return runs_.checkpoint(write, checkpoint);
}

Fence Settler::apply(const Write& write, const seam::Suspend& suspend) {
    return runs_.suspend(write, suspend);
}

Fence Settler::apply(const Write& write, const seam::Finish& finish) {
    return runs_.finish(write, finish);
}

Fence Settler::apply(const Write& write, const seam::CompleteTask& complete) {
    return tasks_.complete(write.lease, complete);
}

Fence Settler::apply(const Write& write, const seam::FailTask& fail) {
    return tasks_.fail(write.lease, fail);
}

Fence Settler::apply(const Write& write, const seam::DelegateTask& delegate) {
    return tasks_.delegate(write.lease, delegate);
}

void Settler::bury(MessageId message, const std::string& reason) {
    {
        Rows rows = session_.query(sql::forward_dead, message, now_, std::string_view(reason));
        if (rows.next()) {
            wakeups_.add(rows.id<QueueId>(0));
            return;
        }
    }
    session_.post(sql::keep_dead, message, now_, std::string_view(reason));
    session_.post(sql::delete_message, message);
}

std::string Settler::bury_poison(MessageId message, int strikes) {
    const std::string error = fmt::format(model::texts::unreported, strikes);
    if (const auto run = find_run_state(session_, RunId(message.value()))) {
        runs_.fail(*run, model::EventKind::poison, error);
    } else {
        bury(message, "poison: " + error);
    }
    return "poison: " + error;
}

// Only for leases that could not be settled. An extension that is repeated may come after something
// else, so it is never taken for done. A message of which nothing is left was deleted: in doubt, by
// us.
WriteStatus Settler::explain(const Write& write, Attempt attempt) {
    if (const auto status = tasks_.explain(write, attempt)) return *status;
    if (const auto status = runs_.explain(write, attempt)) return *status;
    if (attempt == Attempt::first || write.is<seam::Extend>()) return WriteStatus::lease_lost;
    Rows rows = session_.query(sql::known_deliveries, write.lease.message);
    if (!rows.next() || (rows.null(0) && rows.null(1))) return WriteStatus::done;
    const int known = rows.number(rows.null(0) ? 1 : 0);
    return known == write.lease.delivery ? WriteStatus::done : WriteStatus::lease_lost;
}

}  // namespace pawl::rowstore
