#include "rowstore/commit/settler.h"

#include <fmt/format.h>

#include "rowstore/statements.h"
#include "rowstore/store/row_store.h"

namespace pawl::rowstore {

using seam::Attempt;
using seam::Write;
using seam::WriteKind;
using seam::WriteOutcome;
using seam::WriteStatus;

namespace {

// What a run or a task could not continue after: refused for their messages.
bool takes_away(WriteKind kind) {
    return kind == WriteKind::archive || kind == WriteKind::remove || kind == WriteKind::fail ||
           kind == WriteKind::bury;
}

}  // namespace

WriteOutcome Settler::settle(const Write& write, Attempt attempt) {
    if (write.queue && is_elsewhere(write)) return seam::refused_other_queue(write);
    if (apply(write) == Held::yes) return {};
    if (takes_away(write.kind) && session_.query(sql::carries_run, write.lease.message).next())
        return seam::refused_workflow_message(write);
    return {explain(write, attempt), {}};
}

// A leased message does not change its queue.
bool Settler::is_elsewhere(const Write& write) {
    if (!named_queue_) named_queue_ = require_queue(session_, *write.queue);
    Rows rows = session_.query(sql::leased_from, write.lease.message, write.lease.delivery);
    return rows.next() && rows.id<QueueId>(0) != *named_queue_;
}

Held Settler::apply(const Write& write) {
    switch (write.kind) {
        case WriteKind::archive:
            return archive(write);
        case WriteKind::remove:
            return session_.execute(
                       sql::remove_plain_message, write.lease.message, write.lease.delivery
                   ) > 0
                       ? Held::yes
                       : Held::no;
        case WriteKind::release:
            return release(write);
        case WriteKind::hand_back:
            return hand_back(write);
        case WriteKind::fail:
            return fail(write);
        case WriteKind::bury:
            return bury_held(write);
        case WriteKind::extend:
            return extend(write);
        case WriteKind::checkpoint:
            return runs_.checkpoint(write);
        case WriteKind::suspend:
            return runs_.suspend(write);
        case WriteKind::finish:
            return runs_.finish(write);
        case WriteKind::complete_task:
            return tasks_.complete(write);
        case WriteKind::fail_task:
            return tasks_.fail(write);
        case WriteKind::delegate_task:
            return tasks_.delegate(write);
    }
    return Held::no;
}

// A batch is mostly of one queue, so the last message tells which way to try first.
Held Settler::archive(const Write& write) {
    const auto [message, delivery] = write.lease;
    if (!keeps_archive_) {
        if (session_.execute(sql::remove_unkept_message, message, delivery) > 0) return Held::yes;
        keeps_archive_ = true;
    }
    const auto kept = session_.execute(sql::keep_message, message, delivery, now_);
    const auto gone = session_.execute(sql::remove_plain_message, message, delivery);
    if (gone == 0) return Held::no;
    keeps_archive_ = kept > 0;
    return Held::yes;
}

Held Settler::release(const Write& write) {
    const std::string_view state = write.delay > Duration::zero() ? "waiting" : "ready";
    Rows rows = session_.query(
        sql::release_message, write.lease.message, write.lease.delivery, state, now_ + write.delay
    );
    if (!rows.next()) return Held::no;
    given_back(rows);
    return Held::yes;
}

Held Settler::hand_back(const Write& write) {
    Rows rows =
        session_.query(sql::hand_back_message, write.lease.message, write.lease.delivery, now_);
    if (!rows.next()) return Held::no;
    given_back(rows);
    return Held::yes;
}

void Settler::given_back(const Rows& rows) {
    wakeups_.add(rows.id<QueueId>(0));
    if (rows.null(1)) return;
    session_.post(sql::unstart_task, rows.id<RunId>(1), rows.number(2), rows.number(3));
}

Held Settler::extend(const Write& write) {
    const auto extended = session_.execute(
        sql::extend_message, write.lease.message, write.lease.delivery, now_ + write.delay
    );
    return extended > 0 ? Held::yes : Held::no;
}

Held Settler::fail(const Write& write) {
    int attempts = 0;
    int max_attempts = 0;
    {
        Rows rows = session_.query(
            sql::fail_message,
            write.lease.message,
            write.lease.delivery,
            std::string_view(write.reason),
            now_ + write.delay
        );
        if (!rows.next()) return Held::no;
        wakeups_.add(rows.id<QueueId>(0));
        attempts = rows.number(1);
        max_attempts = rows.number(2);
    }
    if (max_attempts > 0 && attempts >= max_attempts)
        bury(write.lease.message, fmt::format("failed {} times: {}", attempts, write.reason));
    return Held::yes;
}

Held Settler::bury_held(const Write& write) {
    {
        Rows rows = session_.query(sql::is_held_plain, write.lease.message, write.lease.delivery);
        if (!rows.next()) return Held::no;
    }
    bury(write.lease.message, write.reason);
    return Held::yes;
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
    const std::string words = fmt::format("handed out {} times without a report", strikes);
    if (const auto run = find_run_state(session_, RunId(message.value()))) {
        runs_.fail(*run, {"poison", words, {}, 0});
    } else {
        bury(message, "poison: " + words);
    }
    return "poison: " + words;
}

// Only for leases that could not be settled. An extension that is repeated may come after something
// else, so it is never taken for done. A message of which nothing is left was deleted: in doubt, by
// us.
WriteStatus Settler::explain(const Write& write, Attempt attempt) {
    if (const auto status = tasks_.explain(write, attempt)) return *status;
    if (const auto status = runs_.explain(write, attempt)) return *status;
    if (attempt == Attempt::first || write.kind == WriteKind::extend)
        return WriteStatus::lease_lost;
    Rows rows = session_.query(sql::known_deliveries, write.lease.message);
    if (!rows.next() || (rows.null(0) && rows.null(1))) return WriteStatus::done;
    const int known = rows.number(rows.null(0) ? 1 : 0);
    return known == write.lease.delivery ? WriteStatus::done : WriteStatus::lease_lost;
}

}  // namespace pawl::rowstore
