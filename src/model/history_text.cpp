// What became of a run, in words.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/history.h"
#include "model/run_error.h"

namespace pawl::model {

namespace {

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
    if (run.origin) return fmt::format("made as a retry of run {}", run.origin.value());
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
    const std::string& kind = entry.kind;
    if (kind == "cancelled") return "cancelled" + by(entry) + after_colon(member(entry, "message"));
    if (kind == "deleted") return "deleted" + by(entry) + after_colon(member(entry, "reason"));
    if (kind == "resume_rejected")
        return subject(entry) + " paused again" + after_colon(member(entry, "message"));
    if (kind == "resumed") return subject(entry) + " resumed" + by(entry);
    if (kind == "woken") return "woken" + by(entry);
    if (kind == "repaired") return "its lost message was restored" + by(entry);
    if (kind == "retried") return "retried" + by(entry) + ": run " + member(entry, "run_id");
    if (kind == "forked") {
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
    if (entry.kind == "paused")
        return (entry.step.empty() ? "paused" : "paused at " + subject(entry)) + after_colon(why);
    return "waits at " + subject(entry) + after_colon(why);
}

std::string of_failure(const HistoryEntry& entry) {
    const std::string& kind = entry.kind;
    if (kind == "step_retry" || kind == "task_retry" || kind == "run_retry")
        return subject(entry) + " failed" + in_attempt(entry) + ", to be tried again" +
               after_colon(error_words(entry));
    if (kind == "step_failed" || kind == "task_failed")
        return subject(entry) + " failed" + in_attempt(entry) + after_colon(error_words(entry));
    if (kind == "run_failed") return "failed" + after_colon(error_words(entry));
    if (kind == "poison" || kind == "no_handler_registered" || kind == "buried")
        return "failed" + after_colon(member(entry, "message")) + " (" + kind + ")";
    if (kind == "lease_lost") {
        return fmt::format(
            "no report about {} within the lease of delivery {}: handed out again",
            subject(entry),
            entry.delivery
        );
    }
    return {};
}

}  // namespace

std::string history_text(const HistoryEntry& entry, const RunInfo& run) {
    const std::string& kind = entry.kind;
    if (kind == "triggered") return of_trigger(run);
    if (kind == "started")
        return entry.delivery > 1 ? fmt::format("handed out again (delivery {})", entry.delivery)
                                  : "started";
    if (kind == "run_succeeded") return "succeeded";
    if (kind == "step_taken_over")
        return fmt::format("{} taken over from run {}", subject(entry), run.origin.value());
    if (kind == "step_started" || kind == "task_started")
        return subject(entry) + " started" + again(entry);
    if (kind == "step_succeeded" || kind == "task_succeeded") return subject(entry) + " succeeded";
    if (kind == "step_cancelled" || kind == "task_cancelled") return subject(entry) + " cancelled";
    if (kind == "task_skipped") return subject(entry) + " skipped";
    if (kind == "step_skipped") {
        const std::string why = member(entry, "skip_reason");
        return subject(entry) + " skipped" + after_colon(why.empty() ? error_words(entry) : why);
    }
    if (kind == "suspension_swallowed") return "its function caught what suspends it";
    if (kind == "paused" || kind == "suspended") return of_wait(entry);
    std::string words = of_failure(entry);
    if (words.empty()) words = of_manual_action(entry);
    return words.empty() ? kind : words;
}

}  // namespace pawl::model
