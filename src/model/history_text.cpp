// One-line descriptions of history entries.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/event_kinds.h"
#include "model/history.h"
#include "model/run_error.h"

namespace pawl::model {

namespace {

using Kind = EventKind;

std::string member(const HistoryEntry& entry, const char* name) {
    const auto data = nlohmann::json::parse(entry.data.text, nullptr, false);
    if (data.is_string()) return data.get<std::string>();  // a task's error
    if (!data.is_object() || !data.contains(name)) return {};
    const auto& value = data[name];
    return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string after_colon(const std::string& words) {
    return words.empty() ? words : ": " + words;
}

std::string subject(const HistoryEntry& entry) {
    if (entry.step.empty()) return "the run";
    if (entry.task_index) return fmt::format("task {} of step '{}'", *entry.task_index, entry.step);
    return fmt::format("step '{}'", entry.step);
}

std::string of_trigger(const RunInfo& run) {
    if (run.origin && !run.forked_at.empty())
        return fmt::format("forked from run {} at step '{}'", run.origin.value(), run.forked_at);
    if (run.origin) return fmt::format("created as a retry of run {}", run.origin.value());
    if (run.parent) return fmt::format("triggered by run {}", run.parent.value());
    return "triggered";
}

std::string again(const HistoryEntry& entry) {
    return entry.attempt > 1 ? fmt::format(" (attempt {})", entry.attempt) : std::string();
}

std::string in_attempt(const HistoryEntry& entry) {
    return entry.attempt > 0 ? fmt::format(" in attempt {}", entry.attempt) : std::string();
}

std::string error_words(const HistoryEntry& entry) {
    const std::string words = member(entry, "message");
    const std::string type = member(entry, "type");
    if (words.empty()) return member(entry, "error");
    return type.empty() || type == words ? words : fmt::format("{} ({})", words, type);
}

std::string by(const HistoryEntry& entry) {
    const auto data = nlohmann::json::parse(entry.data.text, nullptr, false);
    if (!data.is_object() || !data.contains("by")) return {};
    return " by " + member(entry, "by");
}

std::string of_manual_action(const HistoryEntry& entry) {
    if (is(entry, Kind::cancelled))
        return "cancelled" + by(entry) + after_colon(member(entry, "message"));
    if (is(entry, Kind::deleted))
        return "deleted" + by(entry) + after_colon(member(entry, "reason"));
    if (is(entry, Kind::resume_rejected))
        return subject(entry) + " paused again" + after_colon(member(entry, "message"));
    if (is(entry, Kind::resumed)) return subject(entry) + " resumed" + by(entry);
    if (is(entry, Kind::woken)) return "woken" + by(entry);
    if (is(entry, Kind::repaired)) return "its lost message was restored" + by(entry);
    if (is(entry, Kind::retried)) return "retried" + by(entry) + ": run " + member(entry, "run_id");
    if (is(entry, Kind::forked)) {
        return fmt::format(
            "forked{} at step '{}': run {}",
            by(entry),
            member(entry, "step"),
            member(entry, "run_id")
        );
    }
    return {};
}

std::string of_wait(const HistoryEntry& entry) {
    const std::string why = member(entry, "message");
    if (is(entry, Kind::paused))
        return (entry.step.empty() ? "paused" : "paused at " + subject(entry)) + after_colon(why);
    return "waits at " + subject(entry) + after_colon(why);
}

std::string of_failure(const HistoryEntry& entry) {
    if (is(entry, Kind::step_retry) || is(entry, Kind::task_retry) || is(entry, Kind::run_retry))
        return subject(entry) + " failed" + in_attempt(entry) + ", will be retried" +
               after_colon(error_words(entry));
    if (is(entry, Kind::step_failed) || is(entry, Kind::task_failed))
        return subject(entry) + " failed" + in_attempt(entry) + after_colon(error_words(entry));
    if (is(entry, Kind::run_failed)) return "failed" + after_colon(error_words(entry));
    if (is(entry, Kind::poison) || is(entry, Kind::no_handler_registered) ||
        is(entry, Kind::buried))
        return "failed" + after_colon(member(entry, "message")) + " (" + entry.kind + ")";
    if (is(entry, Kind::lease_lost)) {
        return fmt::format(
            "lease of delivery {} expired without a report: {} was delivered again",
            entry.delivery,
            subject(entry)
        );
    }
    return {};
}

}  // namespace

std::string history_text(const HistoryEntry& entry, const RunInfo& run) {
    if (is(entry, Kind::triggered)) return of_trigger(run);
    if (is(entry, Kind::started))
        return entry.delivery > 1 ? fmt::format("delivered again (delivery {})", entry.delivery)
                                  : "started";
    if (is(entry, Kind::run_succeeded)) return "succeeded";
    if (is(entry, Kind::step_taken_over))
        return fmt::format("{} taken over from run {}", subject(entry), run.origin.value());
    if (is(entry, Kind::step_started) || is(entry, Kind::task_started))
        return subject(entry) + " started" + again(entry);
    if (is(entry, Kind::step_succeeded) || is(entry, Kind::task_succeeded))
        return subject(entry) + " succeeded";
    if (is(entry, Kind::step_cancelled) || is(entry, Kind::task_cancelled))
        return subject(entry) + " cancelled";
    if (is(entry, Kind::task_skipped)) return subject(entry) + " skipped";
    if (is(entry, Kind::step_skipped)) {
        const std::string why = member(entry, "skip_reason");
        return subject(entry) + " skipped" + after_colon(why.empty() ? error_words(entry) : why);
    }
    if (is(entry, Kind::suspension_swallowed))
        return "its function caught the exception that suspends it";
    if (is(entry, Kind::paused) || is(entry, Kind::suspended)) return of_wait(entry);
    std::string words = of_failure(entry);
    if (words.empty()) words = of_manual_action(entry);
    return words.empty() ? entry.kind : words;
}

}  // namespace pawl::model
