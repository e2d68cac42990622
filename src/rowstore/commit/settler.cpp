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
    buried_ = false;
    if (apply(write) == Fence::held) {
        WriteOutcome done;
        done.dead_letter = buried_ && write.is<seam::Fail>();
        return done;
    }
    // A run or a task could not continue after these.
    if (write.is<seam::Archive, seam::Remove, seam::Fail, seam::Bury>() &&
        session_.query(sql::carries_run, write.lease.message).next())
        return seam::refused_workflow_message(write);
    return {explain(write, attempt), {}};
}

// The queue of a leased message does not change.
bool Settler::is_elsewhere(const Write& write) {
    if (!named_queue_) named_queue_ = require_queue(session_, *write.queue);
    if (scope_.fences.in_use()) {
        const LeasedRow* const row = scope_.fences.find(session_, write.lease);
        return row != nullptr && row->queue != *named_queue_;
    }
    Rows rows = session_.query(sql::leased_from, write.lease.message, write.lease.delivery);
    return rows.next() && rows.id<QueueId>(0) != *named_queue_;
}

Fence Settler::apply(const Write& write) {
    if (scope_.fences.in_use() && PlainSettler::takes(write)) {
        const auto settled = plain_.settle(write);
        if (settled.dead_letter) bury(write.lease.message, *settled.dead_letter);
        return settled.fence;
    }
    return std::visit([&](const auto& action) { return apply(write, action); }, write.action);
}

// Most batches are of one queue, so the last message decides which statement is tried first.
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
    after_release(rows);
    return Fence::held;
}

Fence Settler::apply(const Write& write, const seam::HandBack& /*hand_back*/) {
    Rows rows =
        session_.query(sql::hand_back_message, write.lease.message, write.lease.delivery, now_);
    if (!rows.next()) return Fence::lost;
    after_release(rows);
    return Fence::held;
}

void Settler::after_release(const Rows& rows) {
    using Row = store::row::TaskKey;
    wakeups_.add(rows.id<QueueId>(Row::queue_id));
    if (rows.null(Row::run_id)) return;
    session_.post(
        sql::unstart_task,
        rows.id<RunId>(Row::run_id),
        rows.number(Row::step_index),
        rows.number(Row::task_index)
    );
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
        using Row = sql::row::FailMessage;
        wakeups_.add(rows.id<QueueId>(Row::queue_id));
        attempts = rows.number(Row::attempts);
        max_attempts = rows.number(Row::max_attempts);
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
    buried_ = true;
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

// Only for leases that could not be settled. A repeated extension may arrive after another write,
// so it never counts as done. If neither the message nor a record of it exists, it was deleted; for
// a repeated write, by this delivery.
WriteStatus Settler::explain(const Write& write, Attempt attempt) {
    if (const auto status = tasks_.explain(write, attempt)) return *status;
    if (const auto status = runs_.explain(write, attempt)) return *status;
    if (attempt == Attempt::first || write.is<seam::Extend>()) return WriteStatus::lease_lost;
    using Row = sql::row::KnownDeliveries;
    Rows rows = session_.query(sql::known_deliveries, write.lease.message);
    if (!rows.next() || (rows.null(Row::live) && rows.null(Row::archived)))
        return WriteStatus::done;
    const int known = rows.number(rows.null(Row::live) ? 1 : 0);
    return known == write.lease.delivery ? WriteStatus::done : WriteStatus::lease_lost;
}

}  // namespace pawl::rowstore
