#include "cli/demo/demo_report.h"

#include <fmt/format.h>

#include "cli/demo/demo.h"
#include "cli/frame/value_parsers.h"
#include "cli/output/render.h"
#include "cli/output/run_tables.h"
#include "cli/output/table.h"

namespace pawl::cli {

namespace {

std::vector<DemoLine> promised_lines(const std::string& killed, const std::string& successor) {
    std::vector<DemoLine> lines;
    const auto add = [&](const std::string& worker, std::size_t step, std::string_view what) {
        lines.push_back({worker, std::string(demo::steps.at(step)), std::string(what)});
    };
    for (const std::size_t step : {0U, 1U, 2U}) add(killed, step, demo::runs);
    for (const std::size_t step : {0U, 1U}) add(successor, step, demo::recorded);
    for (const std::size_t step : {2U, 3U}) add(successor, step, demo::runs);
    return lines;
}

std::string seconds(Duration duration) {
    return fmt::format("{:.1f} s", std::chrono::duration<double>(duration).count());
}

}  // namespace

bool DemoReport::as_promised() const {
    return run.status == RunStatus::success && steps.size() == demo::steps.size() &&
           lines == promised_lines(killed, successor);
}

std::string DemoReport::timeline(const Store& store) const {
    Table table(
        {{"  STEP"},
         {"WORKER"},
         {"DELIVERY", Align::right},
         {"ATTEMPT", Align::right},
         {"STARTED", Align::right},
         {"TOOK", Align::right}}
    );
    WorkerNames workers(store);
    for (const auto& step : steps) {
        table.add(
            {"  " + step.id,
             workers.of(step.worker),
             std::to_string(step.delivery),
             std::to_string(step.attempt),
             "+" + took(run.started_at, step.started_at),
             took(step.started_at, step.completed_at)}
        );
    }
    return table.text(View{});
}

std::string DemoReport::as_text(const Store& store) const {
    return fmt::format(
        "  finished   {} in {}; {} took over {} after the kill\n\n"
        "The run as the store has it:\n\n{}\n{}",
        to_string(run.status),
        seconds(elapsed),
        successor,
        seconds(takeover),
        timeline(store),
        as_promised() ? "No finished step was executed again, and none was left out."
                      : "This is not the expected result: it is a bug in pawl, please report it."
    );
}

std::string DemoReport::as_json() const {
    std::vector<std::string> told;
    for (const auto& line : lines)
        told.push_back(
            json_object({{"worker", line.worker}, {"step", line.step}, {"what", line.what}})
        );
    auto text = json_object(
        {{"ok", as_promised()},
         {"run_id", run.id.value()},
         {"status", std::string(to_string(run.status))},
         {"killed_worker", killed},
         {"takeover_ms", takeover.count()},
         {"elapsed_ms", elapsed.count()}}
    );
    text = with_field(std::move(text), "lines", json_array(told));
    return with_field(std::move(text), "steps", json_array_of(steps));
}

}  // namespace pawl::cli
