// Flows: definitions, claimed tasks, reports by name.
#include "twin/choices.h"
#include "twin/operation.h"
#include "twin/writes.h"

namespace pawl::test::twin {

namespace {

FlowStepOptions step_options(Dice& dice, bool is_root) {
    FlowStepOptions options;
    options.max_attempts = sometimes(dice, 3, [&] { return dice.between(1, 2); });
    options.backoff_base = sometimes(dice, 5, [&] { return some_time(dice); });
    options.task_timeout = sometimes(dice, 6, [&] { return some_time(dice); });
    if (dice.one_in(6)) options.start_delay = 5s;
    if (dice.one_in(6))
        options.required_input_pattern = Json(is_root ? R"({"k": 1})" : R"({"a": {"k": 1}})");
    if (dice.one_in(8)) options.forbidden_input_pattern = Json(is_root ? "1" : R"({"a": [1]})");
    // Never `fail`: what else started at the time of such a failure is not specified
    // (flow_model.h).
    options.when_unmet = dice.one_in(2) ? WhenUnmet::skip : WhenUnmet::skip_cascade;
    options.when_exhausted = static_cast<WhenExhausted>(dice.below(3));
    return options;
}

// Only one root: of several, one may fail at the start (a map whose input is not an array).
FlowStep random_step(Dice& dice, int place) {
    FlowStep step{step_names[static_cast<std::size_t>(place)]};
    for (int i = 0; i < place; ++i)
        if (dice.one_in(2)) step.deps.push_back(step_names[static_cast<std::size_t>(i)]);
    if (place > 0 && step.deps.empty()) step.deps.push_back(step_names.front());
    if (step.deps.size() <= 1 && dice.one_in(3)) step.type = StepType::map;
    step.options = step_options(dice, step.deps.empty());
    return step;
}

FlowOptions flow_options(Dice& dice) {
    FlowOptions options;
    options.max_attempts = sometimes(dice, 2, [&] { return dice.between(0, 3); });
    options.backoff_base = sometimes(dice, 3, [&] { return some_time(dice); });
    options.task_timeout = sometimes(dice, 3, [&] { return dice.one_in(3) ? Duration(0) : 60s; });
    return options;
}

Operation ensure_flow(Dice& dice, const World& /*seen*/) {
    FlowShape shape{any_flow(dice), flow_options(dice), {}};
    const int count = dice.between(1, 4);
    for (int i = 0; i < count; ++i) shape.steps.push_back(random_step(dice, i));
    const EnsureMode mode = dice.one_in(4) ? EnsureMode::force : EnsureMode::refuse_different;
    return {
        fmt::format(
            "ensure flow{} {}", mode == EnsureMode::force ? ", force:" : "", to_json(shape).text
        ),
        [=](World& world) {
            const EnsuredFlow ensured = world.store().ensure_flow(shape, mode);
            return fmt::format(
                "{} {}",
                static_cast<int>(ensured),
                to_json(world.store().flow_shape(shape.slug)).text
            );
        }};
}

Operation create_flow(Dice& dice, const World& /*seen*/) {
    const std::string slug = any_flow(dice);
    const FlowOptions options = flow_options(dice);
    return {"create flow " + slug, [=](World& world) {
                world.store().create_flow(slug, options);
                return to_json(world.store().flow_shape(slug)).text;
            }};
}

Operation add_step(Dice& dice, const World& /*seen*/) {
    const std::string slug = any_flow(dice);
    FlowStep step = random_step(dice, dice.below(5));
    if (dice.one_in(20)) step.deps.emplace_back("none");
    return {fmt::format("add step {} to flow {}", step.slug, slug), [=](World& world) {
                world.store().add_step(slug, step);
                return to_json(world.store().flow_shape(slug)).text;
            }};
}

Operation delete_flow(Dice& dice, const World& /*seen*/) {
    const std::string slug = any_flow(dice);
    const DeleteMode mode = dice.one_in(3) ? DeleteMode::force : DeleteMode::if_empty;
    return {"delete flow " + slug, [=](World& world) {
                world.store().delete_flow_and_data(slug, mode);
                return std::string("done");
            }};
}

Operation start_flow(Dice& dice, const World& /*seen*/) {
    const std::string slug = any_flow(dice);
    const Json input = dice.one_in(2) ? Json(R"([{"k":1},2])") : any_json(dice);
    TriggerOptions options;
    options.priority = dice.below(2);
    return {fmt::format("start flow {} {}", slug, input.text), [=](World& world) {
                const Run run = Trigger(NewRun{slug, input, options, true}).execute(world.store());
                world.know(run.id());
                return world.show()(run);
            }};
}

Operation claim_tasks(Dice& dice, const World& seen) {
    std::vector<std::string> names{dice.of(flow_names)};
    if (dice.one_in(4)) names = flow_names;
    std::vector<std::string> steps;
    if (names.size() == 1 && dice.one_in(3)) steps.push_back(dice.of(step_names));
    const int count = dice.between(1, 4);
    const int worker = dice.one_in(3) ? -1 : dice.index(seen.workers.size());
    return {
        fmt::format(
            "claim {} tasks of {}, steps {}, worker {}",
            count,
            fmt::join(names, " "),
            fmt::join(steps, " "),
            worker
        ),
        [=](World& world) {
            seam::ClaimRequest request;
            // Tasks are claimed only from flows.
            for (const std::string& name : names)
                if (world.backend().flow_shape(name))
                    request.queues.push_back(world.queue_id(name));
            if (request.queues.empty()) return nothing_there;
            if (worker >= 0 && !world.workers.empty()) request.worker = *at(world.workers, worker);
            request.max_messages = world.claimable(names, count);
            request.work = seam::Work::tasks;
            request.steps = steps;
            const seam::Claim claimed = world.backend().claim(request);
            for (std::size_t i = 0; i < claimed.messages.size(); ++i) {
                world.tasks.push_back({claimed.messages[i], claimed.tasks.at(i)});
                world.know(claimed.tasks[i].task.run);
            }
            return world.show().claim(claimed, request.max_messages);
        }};
}

Operation poll_for_tasks(Dice& dice, const World& /*seen*/) {
    const std::string slug = any_flow(dice);
    const int count = dice.between(1, 3);
    return {fmt::format("poll for {} tasks of {}", count, slug), [=](World& world) {
                const auto polled =
                    world.store().poll_for_tasks(slug, world.claimable({slug}, count));
                for (const Task& task : polled) {
                    HeldTask held;
                    held.message.id = task.message;
                    held.message.delivery = task.delivery;
                    held.message.payload = task.input;
                    held.claimed.task = task.task;
                    world.tasks.push_back(std::move(held));
                }
                return world.show()(polled);
            }};
}

Operation commit_tasks(Dice& dice, const World& seen) {
    if (seen.tasks.empty()) return {};
    std::vector<DrawnWrite<HeldTask>> writes;
    std::string name;
    const int first = dice.index(seen.tasks.size());
    for (int i = dice.one_in(3) ? dice.between(2, 3) : 1; i > 0; --i) {
        writes.push_back(task_report(dice));
        name += " " + writes.back().name + ";";
    }
    const bool repeated = dice.one_in(8);
    return {
        fmt::format("commit{} of held task {}:{}", repeated ? " twice" : "", first, name),
        [=](World& world) {
            std::vector<Write> all;
            for (std::size_t i = 0; i < std::min(writes.size(), world.tasks.size()); ++i)
                all.push_back(writes[i].make(*at(world.tasks, first + static_cast<int>(i))));
            return committed(world, std::move(all), repeated);
        }};
}

Operation report_by_hand(Dice& dice, const World& seen) {
    if (seen.tasks.empty()) return {};
    const int index = dice.index(seen.tasks.size());
    const bool fails = dice.one_in(3);
    const bool fenced = !dice.one_in(3);
    const bool unknown = dice.one_in(15);
    const Json output = any_json(dice);
    return {
        fmt::format(
            "{} held task {} by hand, {}",
            fails ? "fail" : "complete " + output.text + " of",
            index,
            fenced ? "fenced" : "not fenced"
        ),
        [=](World& world) {
            const HeldTask* held = at(world.tasks, index);
            if (held == nullptr) return nothing_there;
            TaskRef task = held->ref();
            if (unknown) task.step = "none";
            const int delivery = fenced ? held->lease().delivery : 0;
            return world.show(
            )(fails ? world.store().fail_task(task, "by hand", delivery)
                    : world.store().complete_task(task, output, delivery));
        }};
}

}  // namespace

const std::vector<OperationKind>& flow_operations() {
    static const std::vector<OperationKind> all{
        {3, ensure_flow},
        {1, create_flow},
        {3, add_step},
        {1, delete_flow},
        {7, start_flow},
        {14, claim_tasks},
        {3, poll_for_tasks},
        {16, commit_tasks},
        {5, report_by_hand},
    };
    return all;
}

}  // namespace pawl::test::twin
