#include "rowstore/commit/plain_settler.h"

#include <fmt/format.h>

#include "model/texts.h"
#include "rowstore/statements.h"

namespace pawl::rowstore {

using seam::Write;

bool PlainSettler::takes(const Write& write) {
    return write
        .is<seam::Archive,
            seam::Remove,
            seam::Release,
            seam::HandBack,
            seam::Fail,
            seam::Bury,
            seam::Extend>();
}

PlainSettler::Settled PlainSettler::settle(const Write& write) {
    const LeasedRow* const found = scope_.fences.find(session_, write.lease);
    if (found == nullptr) return {Fence::lost};
    const LeasedRow row = *found;
    const auto [message, delivery] = write.lease;
    if (write.is<seam::Extend>()) {
        const Timestamp until = scope_.now + write.as<seam::Extend>().lease;
        session_.post(sql::extend_message, message, delivery, until);
        return {};
    }
    if (write.is<seam::Release, seam::HandBack>()) {
        release(write, row);
        return {};
    }
    if (row.of_workflow) return {Fence::lost};
    if (write.is<seam::Fail>()) return fail(write.lease, write.as<seam::Fail>(), row);
    scope_.fences.end(write.lease);
    if (write.is<seam::Bury>()) return {Fence::held, write.as<seam::Bury>().reason};
    // Inserts nothing if the queue keeps no archive.
    if (write.is<seam::Archive>()) session_.post(sql::keep_message, message, delivery, scope_.now);
    session_.post(sql::remove_plain_message, message, delivery);
    return {};
}

void PlainSettler::release(const Write& write, const LeasedRow& row) {
    const auto [message, delivery] = write.lease;
    if (write.is<seam::Release>()) {
        const Duration delay = write.as<seam::Release>().delay;
        const std::string_view state = delay > Duration::zero() ? "waiting" : "ready";
        session_.post(sql::release_message, message, delivery, state, scope_.now + delay);
    } else {
        session_.post(sql::hand_back_message, message, delivery, scope_.now);
    }
    if (row.run) session_.post(sql::unstart_task, row.run, row.step, row.task);
    scope_.wakeups.add(row.queue);
    scope_.fences.end(write.lease);
}

PlainSettler::Settled PlainSettler::fail(
    const Lease& lease, const seam::Fail& fail, const LeasedRow& row
) {
    session_.post(
        sql::fail_message,
        lease.message,
        lease.delivery,
        std::string_view(fail.error),
        scope_.now + fail.retry_after
    );
    scope_.wakeups.add(row.queue);
    scope_.fences.end(lease);
    const int attempts = row.attempts + 1;
    if (row.max_attempts == 0 || attempts < row.max_attempts) return {};
    return {Fence::held, fmt::format(model::texts::failed_times, attempts, fail.error)};
}

}  // namespace pawl::rowstore
