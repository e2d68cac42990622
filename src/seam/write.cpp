#include "seam/write.h"

namespace pawl::seam {

namespace {

std::size_t text_bytes(const std::optional<std::string>& text) {
    return text ? text->size() : 0;
}

std::size_t text_bytes(const base::HeapOptional<StepWrite>& step) {
    return step ? text_bytes(step->input) + text_bytes(step->output) + text_bytes(step->error) : 0;
}

std::size_t text_bytes(const base::HeapOptional<NewRun>& run) {
    return run ? run->input.text.size() : 0;
}

// One overload per kind, so that a missing kind does not compile.
struct TextBytes {
    std::size_t operator()(const Archive&) const { return 0; }
    std::size_t operator()(const Remove&) const { return 0; }
    std::size_t operator()(const Release&) const { return 0; }
    std::size_t operator()(const HandBack&) const { return 0; }
    std::size_t operator()(const Fail& fail) const { return fail.error.size(); }
    std::size_t operator()(const Bury& bury) const { return bury.reason.size(); }
    std::size_t operator()(const Extend&) const { return 0; }
    std::size_t operator()(const Checkpoint& checkpoint) const {
        const auto& event = checkpoint.publish;
        return text_bytes(checkpoint.step) + (event ? event->event.payload.text.size() : 0);
    }
    std::size_t operator()(const Suspend& suspend) const {
        return suspend.last_error.size() + text_bytes(suspend.step) + text_bytes(suspend.call);
    }
    std::size_t operator()(const Finish& finish) const { return finish.result.size(); }
    std::size_t operator()(const CompleteTask& complete) const { return complete.output.size(); }
    std::size_t operator()(const FailTask& fail) const { return fail.error.size(); }
    std::size_t operator()(const DelegateTask& task) const { return text_bytes(task.call); }
};

}  // namespace

std::chrono::microseconds StepWrite::elapsed_at(std::chrono::steady_clock::time_point time) const {
    if (measured_at == std::chrono::steady_clock::time_point{} || time <= measured_at)
        return elapsed;
    return elapsed + std::chrono::duration_cast<std::chrono::microseconds>(time - measured_at);
}

const TaskRef* task_of(const Write& write) {
    return std::visit(
        [](const auto& action) -> const TaskRef* {
            if constexpr (requires { action.task->run; }) {
                return action.task ? &*action.task : nullptr;
            } else if constexpr (requires { action.task.run; }) {
                return &action.task;
            } else {
                return nullptr;
            }
        },
        write.action
    );
}

const StepWrite* step_of(const Write& write) {
    return std::visit(
        [](const auto& action) -> const StepWrite* {
            if constexpr (requires { action.step->id; }) {
                return action.step ? &*action.step : nullptr;
            } else {
                return nullptr;
            }
        },
        write.action
    );
}

const NewRun* called_run(const Write& write) {
    return std::visit(
        [](const auto& action) -> const NewRun* {
            if constexpr (requires { action.call->workflow; }) {
                return action.call ? &*action.call : nullptr;
            } else {
                return nullptr;
            }
        },
        write.action
    );
}

std::size_t bytes_of(const Write& write) {
    return std::visit(TextBytes{}, write.action) + (write.event ? write.event->data.size() : 0);
}

}  // namespace pawl::seam
