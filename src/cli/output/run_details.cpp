#include "cli/output/run_details.h"

#include "cli/output/flow_tables.h"
#include "cli/output/render.h"
#include "cli/output/run_tables.h"

namespace pawl::cli {

RunSteps look_up_steps(const Store& store, RunId id) {
    RunSteps found{store.run(id).info(), store.run(id).steps(), std::nullopt};
    if (found.run.remaining_steps) found.flow = store.flow_shape(found.run.workflow);
    return found;
}

std::string RunSteps::as_text(const View& view, WorkerNames& workers) const {
    return flow ? flow_step_table(view, run, steps, *flow) : step_table(view, run, steps, workers);
}

std::string RunSteps::as_json() const {
    if (!flow) return json_array_of(steps);
    std::vector<std::string> elements;
    for (const auto& step : steps)
        elements.push_back(with_field(to_json(step), "deps", to_json(dependencies(*flow, step.id)))
        );
    return json_array(elements);
}

RunDetails look_up(const Store& store, RunId id) {
    RunDetails story{look_up_steps(store, id), {}, store.run(id).events(), store.run(id).lineage()};
    if (story.steps.flow) story.tasks = store.run(id).tasks();
    return story;
}

std::string RunDetails::as_text(const View& view, WorkerNames& workers) const {
    auto text = run_fields(view, steps.run, find_wait(steps.run, steps.steps), workers);
    if (!steps.steps.empty()) text += "\n" + steps.as_text(view, workers);
    if (!tasks.empty()) text += "\n" + task_table(view, steps.run, tasks, workers);
    if (!events.empty()) text += "\n" + event_table(view, events, workers);
    if (lineage.size() > 1) text += "\n" + lineage_table(view, steps.run, lineage);
    return text;
}

std::string RunDetails::as_json() const {
    auto text = with_field(to_json(steps.run), "steps", steps.as_json());
    if (steps.flow) text = with_field(std::move(text), "tasks", json_array_of(tasks));
    text = with_field(std::move(text), "events", json_array_of(events));
    std::vector<std::string> relatives;
    for (const auto& relative : lineage) relatives.push_back(relative_json(relative));
    return with_field(std::move(text), "lineage", json_array(relatives));
}

}  // namespace pawl::cli
