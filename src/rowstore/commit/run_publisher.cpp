#include "rowstore/commit/run_publisher.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "rowstore/outbox/outbox_rows.h"
#include "rowstore/run/run_lookup.h"
#include "rowstore/statements.h"
#include "seam/wake_hub.h"

namespace pawl::rowstore {

using seam::Suspend;

namespace {

std::string_view type_of_end(RunStatus status) {
    if (status == RunStatus::success) return "run.succeeded";
    return status == RunStatus::error ? "run.failed" : "run.cancelled";
}

}  // namespace

bool RunPublisher::asked_for() {
    if (!asked_for_) {
        Rows rows = session_.query(sql::some_workflow_publishes);
        asked_for_ = rows.next();
    }
    return *asked_for_;
}

void RunPublisher::publish(const seam::OutboxRecord& record) {
    insert_outbox(session_, record, now_);
    wakeups_.add(seam::outbox_changed);
}

void RunPublisher::add(RunId run, std::string_view type, std::string payload) {
    const std::string aggregate = fmt::format("run:{}", run.value());
    publish(
        {base::random_uuid(),
         {std::string(type), Json(std::move(payload)), aggregate, aggregate, {}},
         run}
    );
}

void RunPublisher::ended(RunId run, std::string_view alert) {
    if (!asked_for()) return;
    bool ends = false;
    bool dead_lettered = false;
    RunStatus status = RunStatus::error;
    std::string payload;
    {
        using Row = sql::row::PublishingRun;
        Rows rows = session_.query(sql::publishing_run, run);
        if (!rows.next()) return;
        ends = rows.text(Row::publish) == to_string(PublishLevel::ends);
        status = to_run_status(rows.text(Row::status));
        dead_lettered = status == RunStatus::error && rows.flag(Row::has_dead_letter);
        const bool succeeded = status == RunStatus::success;
        payload = fmt::format(
            R"({{"run_id":{},"workflow":"{}","status":"{}","{}":{}}})",
            run.value(),
            rows.text(Row::workflow),
            rows.text(Row::status),
            succeeded ? "output" : "error",
            rows.text(succeeded ? 3 : 4)
        );
    }
    if (ends) add(run, type_of_end(status), payload);
    if (!alert.empty()) add(run, fmt::format("run.{}", alert), payload);
    if (dead_lettered) add(run, "run.dead_lettered", payload);
}

bool RunPublisher::is_new_pause(RunId run, const Suspend& suspend) {
    if (suspend.status != RunStatus::paused || !asked_for()) return false;
    const auto& step = suspend.step;
    if (step && (step->wake_at || step->wake_after_delay)) return false;
    {
        Rows rows = session_.query(sql::publishing_run, run);
        if (!rows.next() ||
            rows.text(sql::row::PublishingRun::publish) != to_string(PublishLevel::ends))
            return false;
    }
    if (!step) {
        Rows rows = session_.query(sql::message_error, run);
        return rows.next() && rows.text(0) != suspend.last_error;
    }
    Rows rows = session_.query(sql::step_state, run, std::string_view(step->id));
    return !rows.next() ||
           to_step_status(rows.text(sql::row::StepState::status)) != StepStatus::paused;
}

void RunPublisher::paused(RunId run, const Suspend& suspend) {
    std::string workflow;
    {
        Rows rows = session_.query(sql::publishing_run, run);
        if (!rows.next()) return;
        workflow = rows.text(sql::row::PublishingRun::workflow);
    }
    std::string_view message = suspend.last_error;
    if (suspend.step) message = suspend.step->pause_message;
    add(run,
        "run.paused",
        fmt::format(
            R"({{"run_id":{},"workflow":"{}","status":"PAUSED","message":{}}})",
            run.value(),
            workflow,
            nlohmann::json(message).dump()
        ));
}

}  // namespace pawl::rowstore
