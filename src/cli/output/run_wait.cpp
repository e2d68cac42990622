#include "cli/output/run_wait.h"

#include <algorithm>
#include <fmt/format.h>

namespace pawl::cli {

namespace {

constexpr std::size_t most_waits = 100;

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
        case WaitKind::time:
            return fmt::format("the run sleeps until {}", until ? view.seconds(*until) : "-");
        case WaitKind::run:
            return fmt::format("step '{}' waits for the end of run {}", step, called.value());
        case WaitKind::resume:
            return fmt::format("step '{}' waits for a resume{}", step, after_colon(message));
    }
    return {};
}

std::string RunWait::remark(const View& view) const {
    switch (kind) {
        case WaitKind::time:
            return fmt::format("sleeps until {}", until ? view.seconds(*until) : "-");
        case WaitKind::run:
            return fmt::format("waits for run {}", called.value());
        case WaitKind::resume:
            return fmt::format("waits at {}{}", step, after_colon(message));
    }
    return {};
}

std::string RunWait::command() const {
    if (kind != WaitKind::resume) return {};
    return fmt::format("pawl run resume {} {} JSON", run.value(), quoted(step));
}

std::string RunWait::look() const {
    return kind == WaitKind::run ? fmt::format("pawl run show {}", called.value()) : "";
}

std::optional<RunWait> find_wait(const RunInfo& run, const std::vector<StepInfo>& steps) {
    if (run.status != RunStatus::paused) return std::nullopt;
    const auto paused = std::ranges::find_if(steps, [](const StepInfo& step) {
        return step.waits_for.has_value();
    });
    if (paused == steps.end()) return std::nullopt;
    const Wait& wait = *paused->waits_for;
    return RunWait{
        wait.kind,
        run.id,
        paused->id,
        paused->pause_message,
        paused->pause_condition,
        wait.kind == WaitKind::time ? wait.until : run.visible_at,
        wait.run};
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
