#include "cli/output/run_wait.h"

#include <algorithm>
#include <fmt/format.h>

namespace pawl::cli {

namespace {

constexpr std::size_t most_waits = 100;
// ctx.call has no mark of its own in a step, but its own message.
constexpr std::string_view message_of_call = "waits for a run of workflow '";

// As one word of a shell.
std::string quoted(const std::string& word) {
    const bool plain = !word.empty() && std::ranges::all_of(word, [](unsigned char c) {
        return std::isalnum(c) != 0 ||
               std::string_view("_-.:/#@%+=").find(static_cast<char>(c)) != std::string_view::npos;
    });
    if (plain && !word.starts_with('-') && !word.starts_with('#')) return word;
    std::string text = "'";
    for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return text + "'";
}

std::string after_colon(const std::string& message) {
    return message.empty() ? "" : ": " + message;
}

}  // namespace

std::string RunWait::sentence(const View& view) const {
    switch (kind) {
        case Kind::sleep:
            return fmt::format("the run sleeps until {}", until ? view.seconds(*until) : "-");
        case Kind::call:
            return fmt::format("step '{}' {}", step, message);
        case Kind::resume:
            return fmt::format("step '{}' waits for a resume{}", step, after_colon(message));
    }
    return {};
}

std::string RunWait::remark(const View& view) const {
    switch (kind) {
        case Kind::sleep:
            return fmt::format("sleeps until {}", until ? view.seconds(*until) : "-");
        case Kind::call:
            return message;
        case Kind::resume:
            return fmt::format("waits at {}{}", step, after_colon(message));
    }
    return {};
}

std::string RunWait::command() const {
    if (kind != Kind::resume) return {};
    return fmt::format("pawl run resume {} {} JSON", run.value(), quoted(step));
}

std::optional<RunWait> find_wait(const RunInfo& run, const std::vector<StepInfo>& steps) {
    if (run.status != RunStatus::paused) return std::nullopt;
    const auto paused = std::ranges::find_if(steps, [](const StepInfo& step) {
        return step.status == StepStatus::paused && !step.completed_at;
    });
    if (paused == steps.end()) return std::nullopt;
    RunWait wait{
        RunWait::Kind::resume,
        run.id,
        paused->id,
        paused->pause_message,
        paused->pause_condition,
        run.visible_at};
    if (paused->wake_at) {
        wait.kind = RunWait::Kind::sleep;
        wait.until = paused->wake_at;
    } else if (paused->pause_message.starts_with(message_of_call)) {
        wait.kind = RunWait::Kind::call;
    }
    return wait;
}

std::optional<RunWait> find_wait(const Store& store, RunId run) {
    const auto info = store.run(run).info();
    if (info.status != RunStatus::paused) return std::nullopt;
    return find_wait(info, store.run(run).steps());
}

RunWaits find_waits(const Store& store, const std::vector<RunInfo>& runs) {
    RunWaits waits;
    for (const auto& run : runs) {
        if (run.status != RunStatus::paused) continue;
        if (auto wait = find_wait(run, store.run(run.id).steps())) waits.emplace(run.id, *wait);
        if (waits.size() == most_waits) break;
    }
    return waits;
}

}  // namespace pawl::cli
