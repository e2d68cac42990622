#include "cli/output/run_tables.h"

#include <fmt/format.h>

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

// The lines of `run show`; what says nothing is left out.
class Lines {
public:
    void add(const char* name, const std::string& value) {
        if (!value.empty()) text_ += fmt::format("{:<13}{}\n", name, printable(value));
    }
    void add(const char* name, const std::optional<Timestamp>& time) {
        if (time) add(name, rfc3339(*time));
    }
    void add(const char* name, const std::optional<Json>& json) {
        if (json) add(name, json->text);
    }
    void add(const char* name, RunId id) {
        if (id) add(name, std::to_string(id.value()));
    }
    [[nodiscard]] const std::string& text() const { return text_; }

private:
    std::string text_;
};

std::string deliveries(const RunInfo& run) {
    auto text = std::to_string(run.delivery);
    if (run.strikes > 1) text += fmt::format(", {} strikes", run.strikes);
    if (run.attempts > 0) text += fmt::format(", {} failed attempts", run.attempts);
    return text;
}

// What a step gave, or what it waits for.
std::string result_of_step(const StepInfo& step) {
    if (step.wake_at && !step.completed_at) return "until " + rfc3339_seconds(*step.wake_at);
    if (step.status == StepStatus::paused) return or_dash(step.pause_message);
    if (step.output) return step.output->text;
    return step.error ? step.error->text : "-";
}

std::string remark(const RunInfo& run) {
    if (run.deleted_at) return "deleted: " + run.deleted_reason;
    return or_dash(run.last_error);
}

}  // namespace

std::string or_dash(std::string text) {
    return text.empty() ? "-" : std::move(text);
}

std::string since_start(const RunInfo& run, const std::optional<Timestamp>& time) {
    if (!time) return "-";
    // The root tasks of a flow are older than its start, which is that of the first one.
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

std::string run_table(const std::vector<RunInfo>& runs) {
    Table table(
        {{"ID", Align::right},
         {"WORKFLOW"},
         {"STATUS"},
         {"CREATED"},
         {"TOOK", Align::right},
         {"DELIVERY", Align::right},
         {"ORIGIN", Align::right},
         {"TAGS"},
         {"REMARK"}}
    );
    for (const auto& run : runs) {
        table.add(
            {std::to_string(run.id.value()),
             run.workflow,
             std::string(to_string(run.status)),
             rfc3339_seconds(run.created_at),
             took(run.started_at, run.completed_at),
             std::to_string(run.delivery),
             id_text(run.origin),
             or_dash(fmt::format("{}", fmt::join(run.tags, " "))),
             remark(run)}
        );
    }
    return table.text(terminal_width());
}

std::string step_table(
    const RunInfo& run, const std::vector<StepInfo>& steps, WorkerNames& workers
) {
    Table table(
        {{"#", Align::right},
         {"STEP"},
         {"STATUS"},
         {"ATTEMPT", Align::right},
         {"DELIVERY", Align::right},
         {"WORKER"},
         {"STARTED", Align::right},
         {"TOOK", Align::right},
         {"RESULT"}}
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
             result_of_step(step)}
        );
    }
    return table.text(terminal_width());
}

std::string run_fields(const RunInfo& run, WorkerNames& workers) {
    Lines lines;
    lines.add("run", run.id);
    lines.add(run.remaining_steps ? "flow" : "workflow", run.workflow);
    lines.add("status", std::string(to_string(run.status)));
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
    lines.add("input", run.input.text);
    lines.add("output", run.output);
    lines.add("error", run.error);
    return lines.text();
}

std::string event_table(const std::vector<RunEvent>& events, WorkerNames& workers) {
    Table table({{"AT"}, {"EVENT"}, {"DELIVERY", Align::right}, {"WORKER"}, {"DATA"}});
    for (const auto& event : events) {
        table.add(
            {rfc3339_seconds(event.at),
             event.kind,
             std::to_string(event.delivery),
             workers.of(event.worker),
             event.data.text}
        );
    }
    return table.text(terminal_width());
}

std::string history_table(const std::vector<HistoryEntry>& entries, WorkerNames& workers) {
    Table table({{"AT"}, {"EVENT"}, {"DELIVERY", Align::right}, {"WORKER"}, {"WHAT"}});
    for (const auto& entry : entries) {
        table.add(
            {rfc3339(entry.at),
             entry.kind,
             entry.delivery == 0 ? "-" : std::to_string(entry.delivery),
             workers.of(entry.worker),
             entry.text}
        );
    }
    return table.text(terminal_width());
}

std::string lineage_table(const RunInfo& run, const std::vector<RunInfo>& lineage) {
    Table table({{"RUN", Align::right}, {"STATUS"}, {"MADE"}, {"CREATED"}, {""}});
    for (const auto& relative : lineage) {
        const auto made = relative.forked_at.empty() ? "retry of" : "fork of";
        const auto where = relative.forked_at.empty() ? "" : " at " + relative.forked_at;
        table.add(
            {std::to_string(relative.id.value()),
             std::string(to_string(relative.status)),
             relative.origin ? fmt::format("{} {}{}", made, relative.origin.value(), where) : "-",
             rfc3339_seconds(relative.created_at),
             relative.id == run.id ? "this one" : ""}
        );
    }
    return table.text(terminal_width());
}

}  // namespace pawl::cli
