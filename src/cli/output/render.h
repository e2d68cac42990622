// The JSON that --json prints. Shapes are a promise (docs/cli.md): fields are added, never changed.
// Ids are numbers, times RFC 3339 in UTC, durations milliseconds; missing values are null.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <pawl/flow.h>
#include <pawl/message.h>
#include <pawl/outbox.h>
#include <pawl/queue.h>
#include <pawl/retention.h>
#include <pawl/run.h>
#include <pawl/schedule.h>
#include <pawl/stats.h>
#include <pawl/store.h>
#include <pawl/worker_info.h>
#include <pawl/workflow.h>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace pawl::cli {

using JsonValue = std::variant<std::string, std::int64_t, bool>;

/// A flat object, in the order given.
[[nodiscard]] std::string json_object(
    std::initializer_list<std::pair<const char*, JsonValue>> fields
);
/// Elements are JSON texts; one per line.
[[nodiscard]] std::string json_array(const std::vector<std::string>& elements);
/// `object` with one more field, whose value is JSON text.
[[nodiscard]] std::string with_field(std::string object, const char* key, const std::string& value);

/// Payloads are embedded byte for byte, so that no number is rounded.
[[nodiscard]] std::string to_json(const Message& message);
[[nodiscard]] std::string to_json(const ArchivedMessage& message);
[[nodiscard]] std::string to_json(const QueueInfo& queue);
[[nodiscard]] std::string to_json(const QueueStats& stats);
[[nodiscard]] std::string to_json(const StoreStats& stats);
[[nodiscard]] std::string to_json(const StoreInfo& info);
[[nodiscard]] std::string to_json(const WorkerInfo& worker);
[[nodiscard]] std::string to_json(const Tenant& tenant);
[[nodiscard]] std::string to_json(const WorkflowInfo& workflow);
[[nodiscard]] std::string to_json(const WorkflowMetrics& metrics);
[[nodiscard]] std::string to_json(const RunInfo& run);
[[nodiscard]] std::string relative_json(const RunInfo& run);  // for a list of related runs
[[nodiscard]] std::string to_json(const RunCounts& counts);
[[nodiscard]] std::string to_json(const StepInfo& step);
[[nodiscard]] std::string to_json(const TaskInfo& task);  // as it is stored
[[nodiscard]] std::string to_json(const Task& task);      // as it is delivered
[[nodiscard]] std::string to_json(const ScheduleInfo& schedule);
[[nodiscard]] std::string to_json(const RunEvent& event);
[[nodiscard]] std::string to_json(const HistoryEntry& entry);
[[nodiscard]] std::string to_json(const OutboxEvent& event);
[[nodiscard]] std::string to_json(const RetentionPolicy& policy);
[[nodiscard]] std::string to_json(const PruneReport& report);
[[nodiscard]] std::string to_json(const std::string& text);
[[nodiscard]] std::string to_json(const std::vector<std::string>& texts);
[[nodiscard]] std::string to_json(const std::vector<MessageId>& ids);

template <class T>
[[nodiscard]] std::string json_array_of(const std::vector<T>& things) {
    std::vector<std::string> elements;
    elements.reserve(things.size());
    for (const auto& thing : things) elements.push_back(to_json(thing));
    return json_array(elements);
}

/// Why the text is not JSON; nothing if it is.
[[nodiscard]] std::optional<std::string> json_problem(const std::string& text);

}  // namespace pawl::cli
