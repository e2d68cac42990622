#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/enum_names.h"
#include "model/texts.h"
#include "model/worker_state.h"
#include "rowstore/commit/settler.h"
#include "rowstore/statements.h"
#include "rowstore/store/row_store.h"

namespace pawl::rowstore {

namespace {

std::string to_json(const std::vector<std::string>& names) {
    return nlohmann::json(names).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// An invalid row, written by hand, must not make the list of workers fail.
std::vector<std::string> from_json(std::string_view text) {
    const auto parsed = nlohmann::json::parse(text, nullptr, false);
    std::vector<std::string> names;
    if (!parsed.is_array()) return names;
    for (const auto& name : parsed) {
        if (name.is_string()) names.push_back(name.get<std::string>());
    }
    return names;
}

WorkerStatus to_status(std::string_view name) {
    return model::stored_value(model::worker_statuses, name, "worker status");
}

void record_heartbeat(
    Session& session, WorkerId worker, Timestamp now, seam::HeartbeatResult& result
) {
    using Row = sql::row::Heartbeat;
    Rows rows = session.query(sql::heartbeat, worker, now);
    result.known = rows.next();
    if (!result.known) return;
    result.status = to_status(rows.text(Row::status));
    result.beats = rows.integer(Row::beats);
}

}  // namespace

WorkerId RowStore::register_worker(const seam::NewWorker& worker) {
    return write([&](Session& session, Timestamp now) {
        const std::string subscriptions = to_json(worker.subscriptions);
        const std::string handlers = to_json(worker.handlers);
        return WorkerId(session.insert(
            sql::register_worker,
            std::string_view(worker.name),
            std::string_view(worker.host),
            worker.port,
            worker.pid,
            worker.lease.count(),
            std::string_view(subscriptions),
            std::string_view(handlers),
            now
        ));
    });
}

seam::HeartbeatResult RowStore::heartbeat(
    WorkerId worker, std::span<const seam::Write> extensions
) {
    seam::HeartbeatResult result;
    Fences fences;
    const auto announce = [&](Session& session) {
        std::vector<const seam::Write*> writes;
        for (const seam::Write& extension : extensions) writes.push_back(&extension);
        if (!writes.empty()) fences = prefetch_fences(session, writes);
    };
    const auto beat_once = [&](Session& session, Timestamp now) {
        seam::HeartbeatResult beat;
        if (worker) record_heartbeat(session, worker, now, beat);
        WriteScope scope(session, now, flow_plans_);
        scope.fences = std::move(fences);
        Settler settler(scope);
        for (const seam::Write& extension : extensions)
            beat.outcomes.push_back(settler.settle(extension, seam::Attempt::first));
        return beat;
    };
    try {
        result = write(beat_once, announce);
    } catch (const Error& error) {
        if (!concerns_one_statement(error) || extensions.empty()) throw;
        result = heartbeat(worker, {});  // the heartbeat counts, even if one extension is refused
        result.outcomes = commit(extensions, seam::Attempt::first);
    }
    return result;
}

// The worker asks after any commit to the file.
bool RowStore::has_news(seam::WorkerView& view) {
    // A worker is informed of leases that its own store ends.
    const std::int64_t version = version_of_others();
    const bool others_wrote = std::exchange(view.version, version) != version;
    return read([&](Session& session) {
        {
            Rows rows = session.query(sql::worker_status, view.worker);
            if (!rows.next() || to_status(rows.text(0)) != view.status) return true;
        }
        return others_wrote && std::ranges::any_of(view.held, [&](const Lease& lease) {
                   const bool gone =
                       !session.query(sql::holder, lease.message, lease.delivery).next();
                   return gone && view.still_held(lease);
               });
    });
}

WorkerStatus RowStore::transition_worker(WorkerId worker, WorkerEvent event) {
    const WorkerStatus status = write([&](Session& session, Timestamp now) {
        std::string current;
        {
            Rows rows = session.query(sql::worker_status, worker);
            if (!rows.next()) {
                throw Error(
                    ErrorCode::worker_not_found,
                    fmt::format(model::texts::worker_missing, worker.value())
                );
            }
            current = rows.text(0);
        }
        std::string next;
        {
            Rows rows =
                session.query(sql::next_worker_status, std::string_view(current), to_string(event));
            if (!rows.next()) {
                throw Error(
                    ErrorCode::invalid_transition,
                    fmt::format(
                        model::texts::worker_cannot, worker.value(), current, to_string(event)
                    )
                );
            }
            next = rows.text(0);
        }
        std::optional<Timestamp> heard_at;
        if (!model::is_by_operator(event)) heard_at = now;
        session.post(sql::set_worker_status, worker, std::string_view(next), heard_at);
        return to_status(next);
    });
    // Other processes, and other stores in this process, notice the commit.
    if (model::is_by_operator(event)) signals_.notify_workers();
    return status;
}

std::vector<WorkerInfo> RowStore::workers(std::optional<WorkerId> only) {
    return read([&](Session& session) {
        std::optional<std::int64_t> only_id;
        if (only) only_id = only->value();  // also 0, which matches no worker
        using Row = store::row::Worker;
        std::vector<WorkerInfo> workers;
        Rows rows = session.query(sql::list_workers, only_id, current_time(session));
        while (rows.next()) {
            WorkerInfo& worker = workers.emplace_back();
            worker.id = rows.id<WorkerId>(Row::worker_id);
            worker.name = rows.text(Row::name);
            worker.host = rows.text(Row::host);
            worker.port = rows.number(Row::port);
            worker.pid = rows.number(Row::pid);
            worker.status = to_status(rows.text(Row::status));
            worker.lost = rows.flag(Row::lost);
            worker.lease = Duration(rows.integer(Row::lease_ms));
            worker.subscriptions = from_json(rows.text(Row::subscriptions));
            worker.handlers = from_json(rows.text(Row::handlers));
            worker.started_at = rows.time(Row::started_at);
            worker.heartbeat_at = rows.time(Row::heartbeat_at);
        }
        return workers;
    });
}

void RowStore::delete_worker(WorkerId worker) {
    write([&](Session& session, Timestamp now) {
        std::string status;
        {
            Rows rows =
                session.query(sql::list_workers, std::optional<std::int64_t>(worker.value()), now);
            if (!rows.next())
                throw Error(
                    ErrorCode::worker_not_found,
                    fmt::format(model::texts::worker_missing, worker.value())
                );
            status = rows.text(store::row::Worker::status);
            if (to_status(status) != WorkerStatus::stopped && !rows.flag(store::row::Worker::lost))
                throw Error(
                    ErrorCode::invalid_transition,
                    fmt::format(model::texts::worker_is_live, worker.value(), status)
                );
        }
        session.post(sql::delete_worker, worker.value());
    });
}

std::int64_t RowStore::purge_workers(Duration older_than) {
    return write([&](Session& session, Timestamp now) {
        return session.execute(sql::purge_workers, now, now - older_than);
    });
}

}  // namespace pawl::rowstore
