#include "cli/output/run_tables.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/frame/value_parsers.h"
#include "cli/output/render.h"
#include "cli/output/table.h"

namespace pawl::cli {

namespace {

Duration between(Timestamp start, Timestamp end) {
    return std::chrono::floor<Duration>(end - start);
}

std::string id_text(RunId id) {
    return id ? std::to_string(id.value()) : "-";
}

// The lines of `run show`; fields without a value are left out.
class Lines {
public:
    explicit Lines(const View& view) : view_(view) {}

    void add(const char* name, const std::string& value) {
        if (!value.empty()) text_ += fmt::format("{:<13}{}\n", name, printable(value));
    }
    void add(const char* name, RunStatus status) {
        text_ += fmt::format("{:<13}{}\n", name, view_.status(to_string(status)));
    }
    void add(const char* name, const std::optional<Timestamp>& time) {
        if (time) add(name, view_.time(*time));
    }
    void add(const char* name, const std::optional<Json>& json) {
        if (json) add(name, view_.value(json->text));
    }
    void add(const char* name, RunId id) {
        if (id) add(name, std::to_string(id.value()));
    }
    [[nodiscard]] const std::string& text() const { return text_; }

private:
    const View& view_;
    std::string text_;
};

std::string deliveries(const RunInfo& run) {
    auto text = std::to_string(run.delivery);
    if (run.strikes > 1) text += fmt::format(", {} strikes", run.strikes);
    if (run.attempts > 0) text += fmt::format(", {} failed attempts", run.attempts);
    return text;
}

// The result of a step, or what it waits for.
std::string result_of_step(const View& view, const StepInfo& step) {
    if (step.wake_at && !step.completed_at) return "until " + view.seconds(*step.wake_at);
    if (step.waits_for && step.waits_for->run)
        return fmt::format("waits for run {}", step.waits_for->run.value());
    if (step.waits_for) return or_dash(step.pause_message);
    if (step.output) return step.output->text;
    return step.error ? step.error->text : "-";
}

// "charge: no such card": the message before everything that a narrow column would cut off.
std::string error_remark(const RunInfo& run) {
    const auto error = nlohmann::json::parse(run.error ? run.error->text : "null", nullptr, false);
    const auto text = [&](const char* key) {
        const bool found = error.is_object() && error.contains(key) && error[key].is_string();
        return found ? error[key].get<std::string>() : std::string();
    };
    if (text("message").empty()) return or_dash(run.last_error);
    return (text("step").empty() ? "" : text("step") + ": ") + text("message");
}

std::string remark(const View& view, const RunInfo& run, const RunWaits& waits, Timestamp now) {
    if (run.deleted_at) return "deleted: " + run.deleted_reason;
    if (const auto wait = waits.find(run.id); wait != waits.end()) return wait->second.remark(view);
    if (is_finished(run.status)) return error_remark(run);
    if (!run.last_error.empty()) return run.last_error;
    if (run.status == RunStatus::queued && run.visible_at && *run.visible_at > now)
        return "starts at " + view.seconds(*run.visible_at);
    return "-";
}

void add_wait(Lines& lines, const View& view, const RunWait& wait) {
    lines.add("waits", wait.sentence(view));
    lines.add("condition", wait.condition);
    if (wait.kind == WaitKind::resume) lines.add("next check", wait.until);
    lines.add("to continue", wait.command());
    lines.add("see", wait.look());
}

}  // namespace

std::string or_dash(std::string text) {
    return text.empty() ? "-" : std::move(text);
}

std::string since_start(const RunInfo& run, const std::optional<Timestamp>& time) {
    if (!time) return "-";
    // The root tasks of a flow are older than its start, which is the start of the first task.
    const auto from =
        run.remaining_steps ? run.created_at : run.started_at.value_or(run.created_at);
    const auto text = short_duration(between(from, *time));
    return text.starts_with('-') ? text : "+" + text;
}

std::string took(const std::optional<Timestamp>& start, const std::optional<Timestamp>& end) {
    return start && end ? short_duration(between(*start, *end)) : "-";
}

std::string in_words(const RunCounts& counts) {
    return fmt::format(
        "{} queued, {} running, {} paused, {} succeeded, {} failed, {} cancelled",
        to_string(counts.queued),
        to_string(counts.running),
        to_string(counts.paused),
        to_string(counts.success),
        to_string(counts.error),
        to_string(counts.cancelled)
    );
}

std::string run_table(
    const View& view, const std::vector<RunInfo>& runs, const RunWaits& waits, Timestamp now
) {
    Table table(
        {{"ID", Align::right},
         Column{"WORKFLOW"}.cut_to(12),
         Column{"STATUS"}.status(),
         {"CREATED"},
         Column{"TOOK", Align::right}.left_out(4),
         Column{"DELIVERY", Align::right}.left_out(2),
         Column{"ORIGIN", Align::right}.left_out(1),
         Column{"TAGS"}.left_out(3).cut_to(8),
         Column{"REMARK"}.cut_to(36)}
    );
    for (const auto& run : runs) {
        table.add(
            {std::to_string(run.id.value()),
             run.workflow,
             std::string(to_string(run.status)),
             view.age(run.created_at, now),
             took(run.started_at, run.completed_at),
             std::to_string(run.delivery),
             id_text(run.origin),
             or_dash(fmt::format("{}", fmt::join(run.tags, " "))),
             remark(view, run, waits, now)}
        );
    }
    return table.text(view);
}

std::string step_table(
    const View& view, const RunInfo& run, const std::vector<StepInfo>& steps, WorkerNames& workers
) {
    Table table(
        {{"#", Align::right},
         Column{"STEP"}.cut_to(16),
         Column{"STATUS"}.status(),
         Column{"ATTEMPT", Align::right}.left_out(3),
         Column{"DELIVERY", Align::right}.left_out(2),
         Column{"WORKER"}.left_out(1),
         Column{"STARTED", Align::right}.left_out(4),
         {"TOOK", Align::right},
         Column{"RESULT"}.cut_to(28)}
    );
    for (const auto& step : steps) {
        table.add(
            {std::to_string(step.position),
             step.id,
             std::string(to_string(step.status)),
             std::to_string(step.attempt),
             step.delivery == 0 ? "taken over" : std::to_string(step.delivery),
             workers.of(step.worker),
             since_start(run, step.started_at),
             took(step.started_at, step.completed_at),
             result_of_step(view, step)}
        );
    }
    return table.text(view);
}

std::string run_fields(
    const View& view, const RunInfo& run, const std::optional<RunWait>& wait, WorkerNames& workers
) {
    Lines lines(view);
    lines.add("run", run.id);
    lines.add(run.remaining_steps ? "flow" : "workflow", run.workflow);
    lines.add("status", run.status);
    if (wait) add_wait(lines, view, *wait);
    lines.add("priority", std::to_string(run.priority));
    if (run.remaining_steps) {
        lines.add("steps left", std::to_string(*run.remaining_steps));
    } else {
        lines.add("delivery", deliveries(run));
    }
    if (run.max_attempts) lines.add("max attempts", std::to_string(*run.max_attempts));
    if (run.worker) lines.add("worker", workers.of(run.worker));
    lines.add("parent", run.parent);
    lines.add("origin", run.origin);
    lines.add("forked at", run.forked_at);
    lines.add("key", run.idempotency_key.value_or(""));
    lines.add("tags", fmt::format("{}", fmt::join(run.tags, " ")));
    lines.add("created", run.created_at);
    lines.add("started", run.started_at);
    lines.add("updated", run.updated_at);
    lines.add("paused", run.paused_at);
    lines.add("visible at", run.visible_at);
    lines.add("completed", run.completed_at);
    lines.add("deleted", run.deleted_at);
    lines.add("because", run.deleted_reason);
    lines.add("last error", run.last_error);
    lines.add("input", view.value(run.input.text));
    lines.add("output", run.output);
    lines.add("error", run.error);
    return lines.text();
}

std::string event_table(
    const View& view, const std::vector<RunEvent>& events, WorkerNames& workers
) {
    Table table(
        {{"AT"},
         {"EVENT"},
         Column{"DELIVERY", Align::right}.left_out(1),
         Column{"WORKER"}.left_out(2),
         Column{"DATA"}.cut_to(36)}
    );
    for (const auto& event : events) {
        table.add(
            {view.seconds(event.at),
             event.kind,
             std::to_string(event.delivery),
             workers.of(event.worker),
             event.data.text}
        );
    }
    return table.text(view);
}

std::string history_table(
    const View& view, const std::vector<HistoryEntry>& entries, WorkerNames& workers
) {
    Table table(
        {{"AT"},
         Column{"EVENT"}.left_out(3),
         Column{"DELIVERY", Align::right}.left_out(1),
         Column{"WORKER"}.left_out(2),
         Column{"WHAT"}.cut_to(44)}
    );
    for (const auto& entry : entries) {
        table.add(
            {view.short_time(entry.at),
             entry.kind,
             entry.delivery == 0 ? "-" : std::to_string(entry.delivery),
             workers.of(entry.worker),
             entry.text}
        );
    }
    return table.text(view);
}

std::string lineage_table(
    const View& view, const RunInfo& run, const std::vector<RunInfo>& lineage
) {
    Table table(
        {{"RUN", Align::right},
         Column{"STATUS"}.status(),
         Column{"MADE"}.cut_to(20),
         Column{"CREATED"}.left_out(1),
         {""}}
    );
    for (const auto& relative : lineage) {
        const auto made = relative.forked_at.empty() ? "retry of" : "fork of";
        const auto where = relative.forked_at.empty() ? "" : " at " + relative.forked_at;
        table.add(
            {std::to_string(relative.id.value()),
             std::string(to_string(relative.status)),
             relative.origin ? fmt::format("{} {}{}", made, relative.origin.value(), where) : "-",
             view.seconds(relative.created_at),
             relative.id == run.id ? "this one" : ""}
        );
    }
    return table.text(view);
}

}  // namespace pawl::cli
