// Random flows, executed in random ways, compared with a model in memory (support/flow_model.h).
// PAWL_TEST_FLOW_SEEDS=5000 tries more seeds; PAWL_TEST_FLOW_SEED=17 tries that one.
#include <cstdlib>
#include <random>

#include "support/flow_model.h"
#include "support/flow_test.h"

namespace pawl::test {
namespace {

using Value = FlowModel::Value;

class Dice {
public:
    explicit Dice(unsigned seed) : random_(seed) {}
    int below(int limit) { return std::uniform_int_distribution<>(0, limit - 1)(random_); }
    bool one_in(int n) { return below(n) == 0; }

    // Few different values, so that patterns often match. Mostly arrays for maps.
    Value value(bool wants_array) {
        if (wants_array && !one_in(25)) {
            Value array = Value::array();
            for (int i = below(4); i > 0; --i) array.push_back(below(3));
            return array;
        }
        if (one_in(3)) return Value{{"k", below(3)}};
        return below(3);
    }
    Value pattern_of_value() {
        if (one_in(3)) return Value::array({below(3)});
        if (one_in(2)) return Value{{"k", below(3)}};
        return below(3);
    }

private:
    std::mt19937 random_;
};

bool is_mapped(const FlowShape& shape, const std::string& slug) {
    return std::ranges::any_of(shape.steps, [&](const FlowStep& step) {
        return step.type == StepType::map && step.deps == std::vector{slug};
    });
}

bool has_root_map(const FlowShape& shape) {
    return std::ranges::any_of(shape.steps, [](const FlowStep& step) {
        return step.type == StepType::map && step.deps.empty();
    });
}

FlowStepOptions random_options(Dice& dice, const std::vector<std::string>& deps) {
    FlowStepOptions options;
    const auto pattern = [&] {
        Value value = dice.pattern_of_value();
        if (!deps.empty())
            value = {
                {deps[static_cast<std::size_t>(dice.below(static_cast<int>(deps.size())))], value}};
        return Json(value.dump());
    };
    if (dice.one_in(5)) options.required_input_pattern = pattern();
    if (dice.one_in(5)) options.forbidden_input_pattern = pattern();
    if (dice.one_in(2)) options.max_attempts = 1 + dice.below(3);
    const int unmet = dice.below(8);
    options.when_unmet = unmet == 0   ? WhenUnmet::fail
                         : unmet <= 3 ? WhenUnmet::skip_cascade
                                      : WhenUnmet::skip;
    const int exhausted = dice.below(4);
    options.when_exhausted = exhausted == 0   ? WhenExhausted::fail
                             : exhausted == 1 ? WhenExhausted::skip_cascade
                                              : WhenExhausted::skip;
    return options;
}

FlowShape random_shape(Dice& dice, const std::string& slug) {
    FlowShape shape{slug, {1 + dice.below(3), 1s, 10s}, {}};
    const int count = 1 + dice.below(12);
    for (int i = 0; i < count; ++i) {
        FlowStep step{"s" + std::to_string(i)};
        for (const FlowStep& earlier : shape.steps) {
            if (dice.one_in(std::max(2, i / 2))) step.deps.push_back(earlier.slug);
        }
        if (step.deps.size() <= 1 && dice.one_in(3)) step.type = StepType::map;
        step.options = random_options(dice, step.deps);
        shape.steps.push_back(std::move(step));
    }
    return shape;
}

// A task that the test has polled.
struct InHand {
    HeldTask held;
    std::size_t run = 0;  // index
    [[nodiscard]] const std::string& step() const { return held.ref().step; }
    [[nodiscard]] int index() const { return held.ref().task_index; }
};

class FlowRandomTest : public FlowTest {
protected:
    static int environment(const char* name, int otherwise) {
        const char* text = std::getenv(name);
        return text == nullptr ? otherwise : std::atoi(text);
    }

    void try_seed(int seed) {
        dice_ = std::make_unique<Dice>(static_cast<unsigned>(seed));
        slug_ = "f" + std::to_string(seed);
        const FlowShape shape = random_shape(*dice_, slug_);
        store().ensure_flow(shape);
        start_runs(shape);
        for (int turn = 0; !over() && turn < 2000 && !HasFailure(); ++turn) {
            if (in_hand_.empty() || dice_->one_in(3)) take(1 + dice_->below(6));
            if (in_hand_.empty()) {
                let_leases_end();
                continue;
            }
            report();
            if (dice_->one_in(8)) compare_all();
        }
        EXPECT_TRUE(over()) << "it never ended";
        while (!in_hand_.empty() && !HasFailure()) report();
        compare_all();
        const QueueStats left = store().queue(slug_).stats();
        EXPECT_EQ(left.ready + left.waiting + left.leased, 0);
    }

private:
    void start_runs(const FlowShape& shape) {
        runs_.clear();
        models_.clear();
        in_hand_.clear();
        doomed_.clear();
        std::vector<NewRun> batch;
        for (int i = 1 + dice_->below(2); i > 0; --i) {
            Value input = dice_->value(has_root_map(shape));
            while (has_root_map(shape) && !input.is_array()) input = dice_->value(true);
            batch.push_back({slug_, Json(input.dump()), {}});
            models_.emplace_back(shape, input);
        }
        for (const Run& run : store().trigger(batch)) runs_.push_back(run.id());
        compare_all();
    }

    [[nodiscard]] bool over() const {
        return std::ranges::all_of(models_, [](const FlowModel& model) {
            return is_finished(model.status());
        });
    }

    void take(int count) {
        for (HeldTask& held : claim_tasks(count, slug_)) {
            const auto run = std::ranges::find(runs_, held.ref().run);
            ASSERT_NE(run, runs_.end());
            InHand one{std::move(held), static_cast<std::size_t>(run - runs_.begin())};
            FlowModel& model = models_[one.run];
            ASSERT_FALSE(is_finished(model.status())) << "a task of a run that has ended";
            const FlowModel::Task& task = model.task(one.step(), one.index());
            const bool was_lost = task.status == TaskStatus::running;
            ASSERT_TRUE(was_lost || task.status == TaskStatus::queued) << one.step();
            model.begin(one.step(), one.index());
            EXPECT_EQ(one.held.claimed.attempts, task.attempts);
            EXPECT_EQ(one.held.claimed.max_attempts, model.max_attempts(one.step()));
            EXPECT_EQ(
                flat(one.held.message.payload), model.input_of(one.step(), one.index()).dump()
            );
            in_hand_.push_back(std::move(one));
        }
    }

    // No task is leased: waiting tasks become due, and forgotten ones are delivered again.
    void let_leases_end() {
        advance(1h);
        if (doomed_.empty()) return;
        for (const InHand& one : doomed_) models_[one.run].fail(one.step(), one.index());
        doomed_.clear();
        // Suspects are delivered one by one.
        for (int i = 0; i < 8; ++i) take(100);
        compare_all();
    }

    InHand draw() {
        const auto place = in_hand_.begin() + dice_->below(static_cast<int>(in_hand_.size()));
        InHand drawn = std::move(*place);
        in_hand_.erase(place);
        return drawn;
    }

    void report() {
        if (dice_->one_in(3)) return report_batch();
        const InHand one = draw();
        FlowModel& model = models_[one.run];
        if (forget(one)) return;
        const TaskStatus status = model.task(one.step(), one.index()).status;
        const bool fails = dice_->one_in(5);
        const Value output = dice_->value(is_mapped(model.shape(), one.step()));
        const int delivery = dice_->one_in(4) ? 0 : one.held.lease().delivery;
        const TaskOutcome outcome =
            fails ? store().fail_task(one.held.ref(), "no luck", delivery)
                  : store().complete_task(one.held.ref(), Json(output.dump()), delivery);
        expect_outcome(outcome, one, status);
        if (status != TaskStatus::running) return;
        if (fails) {
            model.fail(one.step(), one.index());
        } else {
            model.complete(one.step(), one.index(), output);
        }
    }

    // Rarely a worker crashes with a leased task. Only if nothing else of the run is open, so that
    // the result does not depend on the order in which tasks are delivered again.
    bool forget(const InHand& one) {
        const FlowModel& model = models_[one.run];
        if (!dice_->one_in(10) || is_finished(model.status()) || model.open_tasks() != 1)
            return false;
        const FlowModel::Task& task = model.task(one.step(), one.index());
        if (task.status != TaskStatus::running) return false;
        if (task.attempts == model.max_attempts(one.step())) doomed_.push_back(one);
        return true;
    }

    void report_batch() {
        std::vector<InHand> drawn;
        for (int i = 1 + dice_->below(4); i > 0 && !in_hand_.empty(); --i) drawn.push_back(draw());
        std::vector<Value> outputs;
        std::vector<Write> writes;
        for (const InHand& one : drawn) {
            outputs.push_back(dice_->value(is_mapped(models_[one.run].shape(), one.step())));
            writes.push_back(complete_write(one.held, outputs.back().dump()));
        }
        const auto outcomes = commit_all(writes);
        for (std::size_t i = 0; i < drawn.size(); ++i) {
            FlowModel& model = models_[drawn[i].run];
            // If another report of the batch has failed the run, this one may have come first.
            if (model.failed_at_a_start()) continue;
            const TaskStatus status = model.task(drawn[i].step(), drawn[i].index()).status;
            expect_outcome(outcomes[i], drawn[i], status);
            if (status == TaskStatus::running)
                model.complete(drawn[i].step(), drawn[i].index(), outputs[i]);
        }
    }

    void expect_outcome(TaskOutcome outcome, const InHand& one, TaskStatus status) const {
        TaskOutcome expected = TaskOutcome::finished;
        if (status == TaskStatus::running) expected = TaskOutcome::done;
        if (status == TaskStatus::cancelled) expected = TaskOutcome::cancelled;
        // A skipped step of a failed run: both are valid.
        if (expected == TaskOutcome::finished && models_[one.run].status() == RunStatus::error &&
            outcome == TaskOutcome::cancelled)
            return;
        EXPECT_EQ(outcome, expected) << one.step() << "." << one.index();
    }
    void expect_outcome(WriteStatus outcome, const InHand& one, TaskStatus status) const {
        WriteStatus expected = WriteStatus::lease_lost;
        if (status == TaskStatus::running) expected = WriteStatus::done;
        if (status == TaskStatus::cancelled) expected = WriteStatus::cancelled;
        if (expected == WriteStatus::lease_lost && models_[one.run].status() == RunStatus::error &&
            outcome == WriteStatus::cancelled)
            return;
        EXPECT_EQ(outcome, expected) << one.step() << "." << one.index();
    }

    void compare_all() const {
        for (std::size_t i = 0; i < runs_.size() && !HasFailure(); ++i) {
            if (models_[i].failed_at_a_start()) {
                compare_failed(runs_[i]);
            } else {
                compare(runs_[i], models_[i]);
            }
        }
    }

    void compare(RunId run, const FlowModel& model) const {
        const RunInfo seen = info(run);
        EXPECT_EQ(seen.status, model.status());
        EXPECT_EQ(seen.remaining_steps, model.remaining_steps());
        const bool succeeded = model.status() == RunStatus::success;
        EXPECT_EQ(flat(seen.output), succeeded ? model.output().dump() : "none");
        std::map<std::string, std::vector<TaskInfo>> tasks;
        for (TaskInfo& task : store().run(run).tasks())
            tasks[task.task.step].push_back(std::move(task));
        const auto steps = store().run(run).steps();
        ASSERT_EQ(steps.size(), model.shape().steps.size());
        for (std::size_t i = 0; i < steps.size(); ++i)
            compare_step(steps[i], tasks[steps[i].id], model, model.shape().steps[i]);
    }

    static void compare_step(
        const StepInfo& seen,
        const std::vector<TaskInfo>& tasks,
        const FlowModel& model,
        const FlowStep& declared
    ) {
        const FlowModel::Step& step = model.steps().at(declared.slug);
        const std::string where = "step " + declared.slug;
        EXPECT_EQ(seen.id, declared.slug);
        EXPECT_EQ(seen.status, step.status) << where;
        EXPECT_EQ(seen.skip_reason, step.skip_reason) << where;
        const bool done = step.status == StepStatus::success;
        EXPECT_EQ(flat(seen.output), done ? step.output.dump() : "none") << where;
        if (done || step.status == StepStatus::running || step.status == StepStatus::pending) {
            EXPECT_EQ(seen.remaining_deps, model.remaining_deps(declared)) << where;
        }
        if (done || step.status == StepStatus::running) {
            EXPECT_EQ(seen.initial_tasks, static_cast<int>(step.tasks.size())) << where;
            const auto left = std::ranges::count_if(step.tasks, [](const FlowModel::Task& task) {
                return task.status != TaskStatus::success;
            });
            EXPECT_EQ(seen.remaining_tasks, static_cast<int>(left)) << where;
        }
        ASSERT_EQ(tasks.size(), step.tasks.size()) << where;
        for (std::size_t i = 0; i < tasks.size(); ++i) {
            EXPECT_EQ(tasks[i].task.task_index, static_cast<int>(i));
            EXPECT_EQ(tasks[i].status, step.tasks[i].status) << where << "." << i;
            EXPECT_EQ(tasks[i].attempts, step.tasks[i].attempts) << where << "." << i;
            const bool succeeded = step.tasks[i].status == TaskStatus::success;
            EXPECT_EQ(flat(tasks[i].output), succeeded ? step.tasks[i].output.dump() : "none")
                << where << "." << i;
        }
    }

    // A run that failed because a step could not start: it has no open tasks, and one step has the
    // error.
    void compare_failed(RunId run) const {
        EXPECT_EQ(info(run).status, RunStatus::error);
        int blamed = 0;
        int left = 0;
        for (const StepInfo& step : store().run(run).steps()) {
            blamed += step.status == StepStatus::error ? 1 : 0;
            const bool done =
                step.status == StepStatus::success || step.status == StepStatus::skipped;
            left += done ? 0 : 1;
            EXPECT_TRUE(
                done || step.status == StepStatus::error || step.status == StepStatus::cancelled
            ) << step.id;
        }
        EXPECT_GE(blamed, 1) << "of one batch two may be to blame";
        EXPECT_EQ(info(run).remaining_steps, left) << states(run);
        for (const TaskInfo& task : store().run(run).tasks()) {
            EXPECT_NE(task.status, TaskStatus::queued);
            EXPECT_NE(task.status, TaskStatus::running);
        }
    }

    std::unique_ptr<Dice> dice_;
    std::string slug_;
    std::vector<RunId> runs_;
    std::vector<FlowModel> models_;
    std::vector<InHand> in_hand_;
    std::vector<InHand> doomed_;  // forgotten in their last attempt
};
PAWL_FOR_EACH_BACKEND(FlowRandomTest);

TEST_P(FlowRandomTest, random_flows_behave_like_the_model) {
    const int only = environment("PAWL_TEST_FLOW_SEED", -1);
    const int first = only >= 0 ? only : 0;
    const int count = only >= 0 ? 1 : environment("PAWL_TEST_FLOW_SEEDS", 200);
    for (int seed = first; seed < first + count; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        try_seed(seed);
        if (HasFailure()) {
            const std::string slug = "f" + std::to_string(seed);
            std::cout << "seed " << seed << ": " << to_json(store().flow_shape(slug)).text << "\n";
            return;
        }
    }
}

}  // namespace
}  // namespace pawl::test
