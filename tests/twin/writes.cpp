#include "twin/writes.h"

#include <algorithm>
#include <set>

#include "model/event_data.h"
#include "model/texts.h"
#include "seam/outbox_record.h"

namespace pawl::test::twin {

namespace {

using seam::WriteKind;

// Of a message; `task` only if it belongs to one.
seam::WriteAction settling(
    WriteKind kind, Duration time, const std::string& why, const TaskRef* task
) {
    base::HeapOptional<TaskRef> carried;
    if (task != nullptr) carried = *task;
    switch (kind) {
        case WriteKind::archive:
            return seam::Archive{};
        case WriteKind::remove:
            return seam::Remove{};
        case WriteKind::release:
            return seam::Release{time, carried};
        case WriteKind::hand_back:
            return seam::HandBack{carried};
        case WriteKind::fail:
            return seam::Fail{why, time};
        case WriteKind::bury:
            return seam::Bury{why};
        default:
            return seam::Extend{time, carried};
    }
}

struct NamedKind {
    const char* name;
    WriteKind kind;
};

struct Settlement {
    std::string name;
    std::function<Write(const Message&, const TaskRef*)> make;
};

Settlement settlement(Dice& dice, const std::vector<NamedKind>& kinds) {
    const NamedKind drawn = dice.of(kinds);
    const Duration delay =
        drawn.kind == WriteKind::extend ? some_time(dice) : std::max(any_delay(dice), Duration(0));
    const std::string why = reason(dice);
    return {
        fmt::format("{} {}ms", drawn.name, delay.count()),
        [=](const Message& message, const TaskRef* task) {
            return Write{message.lease(), settling(drawn.kind, delay, why, task)};
        }};
}

// Of the message of a run or a task.
Settlement given_back(Dice& dice) {
    static const std::vector<NamedKind> allowed{
        {"release", WriteKind::release},
        {"hand_back", WriteKind::hand_back},
        {"extend", WriteKind::extend}};
    static const std::vector<NamedKind> refused{
        {"archive", WriteKind::archive},
        {"remove", WriteKind::remove},
        {"fail", WriteKind::fail},
        {"bury", WriteKind::bury}};
    return settlement(dice, dice.one_in(5) ? refused : allowed);
}

void add_event(Write& write, const std::string& kind) {
    const seam::StepWrite* step = step_of(write);
    write.event = AuditEvent{
        kind,
        step != nullptr ? model::event_data({.step = step->id, .attempt = step->attempt}) : "{}"};
}

DrawnWrite<Held> checkpoint_write(Dice& dice) {
    const int step = dice.below(static_cast<int>(step_names.size()));
    const std::string& id = step_names[static_cast<std::size_t>(step)];
    const int what = dice.below(6);
    const std::string output = value(dice);
    const bool audits = dice.one_in(3);
    const bool has_input = dice.one_in(4);
    const std::string name = what == 0 ? "failed" : what == 1 ? "running" : "succeeded";
    return {fmt::format("checkpoint of {}: {}", id, name), [=](const Held& held) {
                Write write = what == 0   ? failed_step(held.lease(), id, step)
                              : what == 1 ? running(held.lease(), id, step)
                                          : checkpoint(held.lease(), id, step, output);
                seam::StepWrite& record = *write.as<Checkpoint>().step;
                record.elapsed = std::chrono::microseconds(what * 250);
                if (has_input) record.input = R"({"in": 1})";
                if (audits) add_event(write, what == 0 ? "step_failed" : "step_succeeded");
                return write;
            }};
}

DrawnWrite<Held> publish_write(Dice& dice) {
    const std::string payload = value(dice);
    const std::string uuid = fmt::format(
        "00000000-0000-4000-8000-{:06x}{:06x}", dice.below(0xFFFFFF), dice.below(0xFFFFFF)
    );
    // A new step: a recorded step is never executed again.
    return {"checkpoint with an event", [=](const Held& held) {
                Write write = checkpoint(held.lease(), uuid, 5, "null");
                auto record = seam::new_outbox_record(
                    {"e.published", Json(payload), "aggregate"}, 1000, held.id()
                );
                record.event_id = uuid;
                write.as<Checkpoint>().publish = std::move(record);
                return write;
            }};
}

DrawnWrite<Held> wait_write(Dice& dice, const World& seen) {
    const int step = dice.below(static_cast<int>(step_names.size()));
    const std::string& id = step_names[static_cast<std::size_t>(step)];
    const Duration time = some_time(dice);
    const int attempts = dice.below(3);
    const int what = dice.below(5);
    const bool audits = dice.one_in(2);
    const auto until = sometimes(dice, 4, [&] { return seen.now() + some_time(dice); });
    static const std::vector<std::string> names{
        "retry", "pause", "sleep", "pause without a step", "run retry"};
    return {
        fmt::format(
            "{} at {} for {}ms{}",
            names[static_cast<std::size_t>(what)],
            id,
            time.count(),
            until ? ", until a time" : ""
        ),
        [=](const Held& held) {
            Write write = what == 0   ? retry_step(held.lease(), id, step, attempts + 1, time)
                          : what == 1 ? pause_step(held.lease(), id, step, time)
                                      : sleep_step(held.lease(), id, step, time);
            auto& suspend = write.as<Suspend>();
            if (what == 2 && until) {
                suspend.until = until;
                suspend.step->wake_at = until;
                suspend.step->wake_after_delay = false;
            }
            if (what >= 3) {
                suspend = {.status = what == 3 ? RunStatus::paused : RunStatus::running};
                suspend.delay = time;
                suspend.last_error = what == 3 ? "paused" : "not now";
            }
            suspend.attempts = attempts;
            static const std::vector<std::string> events{
                "step_retry", "paused", "suspended", "paused", "run_retry"};
            if (audits) add_event(write, events[static_cast<std::size_t>(what)]);
            return write;
        }};
}

DrawnWrite<Held> call_write(Dice& dice) {
    const int step = dice.below(static_cast<int>(step_names.size()));
    const std::string& id = step_names[static_cast<std::size_t>(step)];
    NewRun run{any_workflow(dice), Json(value(dice)), {}};
    run.options.priority = dice.below(2);
    if (dice.one_in(4)) run.workflow = dice.of(flow_names);
    return {fmt::format("call of {} at {}", run.workflow, id), [=](const Held& held) {
                NewRun called = run;
                called.options.parent = held.id();
                Write write = pause_step(held.lease(), id, step, std::chrono::hours(24) * 36'525);
                auto& pause = write.as<Suspend>();
                pause.step->pause_condition.clear();
                pause.step->pause_message =
                    fmt::format(model::texts::waits_for_workflow, called.workflow);
                pause.step->attempt = 0;
                pause.call = std::move(called);
                return write;
            }};
}

DrawnWrite<Held> finish_write(Dice& dice) {
    const bool succeeds = !dice.one_in(3);
    const std::string output = value(dice);
    const bool audits = dice.one_in(2);
    return {succeeds ? "finish: success" : "finish: error", [=](const Held& held) {
                Write write = succeeds ? success(held.lease(), output) : failure(held.lease());
                if (audits)
                    write.event = succeeds ? AuditEvent{"run_succeeded"}
                                           : AuditEvent{"run_failed", write.as<Finish>().result};
                return write;
            }};
}

}  // namespace

namespace {

bool ends_or_publishes(const Write& write) {
    if (write.is<Checkpoint>()) return write.as<Checkpoint>().publish.has_value();
    return write.is<Suspend, Finish, seam::CompleteTask, seam::FailTask, seam::DelegateTask>();
}

bool depends_on_order(const std::vector<Write>& writes) {
    std::set<WriteKind> kinds;
    for (const Write& write : writes)
        if (ends_or_publishes(write)) kinds.insert(write.kind());
    return kinds.size() > 1;
}

bool is_recorded(const World& world, const Write& write) {
    const auto steps = world.backend().recorded_steps(RunId(write.lease.message.value()));
    return std::ranges::any_of(steps, [&](const seam::ReplayStep& step) {
        return step.id == step_of(write)->id && step.status != StepStatus::running;
    });
}

}  // namespace

// Excluded, because the stores promise nothing:
// - The order of a batch: PostgreSQL writes it kind by kind, and each kind in the order of
// messages.
// - The event of a step that is recorded again in the same delivery, which no worker does: SQLite
//   drops it.
// - Repetitions of writes that were not done: PostgreSQL treats as done what the delivery may have
//   written.
std::string committed(World& world, std::vector<Write> writes, bool again) {
    if (depends_on_order(writes)) {
        std::string all;
        for (const Write& write : writes) all += committed(world, {write}, again) + " ";
        return all;
    }
    std::ranges::stable_sort(writes, {}, [](const Write& write) { return write.lease.message; });
    for (Write& write : writes)
        if (write.event && write.is<Checkpoint>() && is_recorded(world, write)) write.event.reset();
    std::erase_if(writes, [&](const Write& write) {
        const NewRun* called = seam::called_run(write);
        return called != nullptr && !world.queue_id(called->workflow);
    });
    const auto outcomes = world.backend().commit(writes, Attempt::first);
    std::string text = world.show()(outcomes);
    if (!again) return text;
    std::vector<Write> done;
    for (std::size_t i = 0; i < writes.size(); ++i)
        if (outcomes[i].status == WriteStatus::done) done.push_back(writes[i]);
    return text + ", again: " + world.show()(world.backend().commit(done, Attempt::repeated));
}

DrawnWrite<Message> message_write(Dice& dice) {
    static const std::vector<NamedKind> kinds{
        {"archive", WriteKind::archive},
        {"remove", WriteKind::remove},
        {"release", WriteKind::release},
        {"hand_back", WriteKind::hand_back},
        {"fail", WriteKind::fail},
        {"fail", WriteKind::fail},
        {"bury", WriteKind::bury},
        {"extend", WriteKind::extend}};
    const Settlement settled = settlement(dice, kinds);
    return {settled.name, [=](const Message& message) { return settled.make(message, nullptr); }};
}

DrawnWrite<Held> run_write(Dice& dice, const World& seen) {
    const int what = dice.below(20);
    if (what < 7) return checkpoint_write(dice);
    if (what < 8) return publish_write(dice);
    if (what < 12) return wait_write(dice, seen);
    if (what < 14) return call_write(dice);
    if (what < 17) return finish_write(dice);
    const auto settled = given_back(dice);
    return {settled.name, [=](const Held& held) { return settled.make(held.message, nullptr); }};
}

DrawnWrite<HeldTask> task_report(Dice& dice) {
    const int what = dice.below(12);
    const std::string output = dice.one_in(3) ? "[1,{\"k\":1}]" : value(dice);
    const std::string why = reason(dice);
    if (what < 7)
        return {"complete task: " + output, [=](const HeldTask& held) {
                    return complete_write(held, output);
                }};
    if (what < 9) {
        const bool permanent = dice.one_in(5);
        const auto delay = sometimes(dice, 3, [&] { return some_time(dice); });
        return {permanent ? "fail task for good" : "fail task", [=](const HeldTask& held) {
                    Write write = fail_write(held, why);
                    write.as<seam::FailTask>().permanent = permanent;
                    write.as<seam::FailTask>().retry_delay = delay;
                    return write;
                }};
    }
    if (what < 10) {
        const std::string workflow = any_workflow(dice);
        return {"delegate task to " + workflow, [=](const HeldTask& held) {
                    NewRun run{workflow, held.message.payload, {}};
                    run.options.parent = held.ref().run;
                    return delegate_write(held, run);
                }};
    }
    const auto settled = given_back(dice);
    return {settled.name, [=](const HeldTask& held) {
                return settled.make(held.message, &held.ref());
            }};
}

}  // namespace pawl::test::twin
