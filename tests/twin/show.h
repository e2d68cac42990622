// Everything that a store returns, as text by which two stores can be compared. It has all members;
// only values that must differ are replaced (ids.h).
#pragma once

#include <fmt/format.h>
#include <optional>
#include <pawl/pawl.h>
#include <string>
#include <type_traits>
#include <vector>

#include "seam/backend.h"
#include "twin/ids.h"

namespace pawl::test::twin {

template <class T>
concept Named = std::is_enum_v<T> && requires(T value) {
    pawl::to_string(value);
};

class Show {
public:
    explicit Show(Ids& ids) : ids_(ids) {}

    std::string operator()(const std::string& text) const { return "'" + ids_.text(text) + "'"; }
    std::string operator()(bool value) const { return value ? "yes" : "no"; }
    std::string operator()(int value) const { return std::to_string(value); }
    std::string operator()(std::int64_t value) const { return std::to_string(value); }
    std::string operator()(double value) const { return fmt::format("{:.6f}", value); }
    std::string operator()(const Count& count) const { return to_string(count); }
    std::string operator()(Duration time) const { return fmt::format("{}ms", time.count()); }
    std::string operator()(Timestamp time) const;
    std::string operator()(const Json& json) const { return ids_.json(json.text); }
    std::string operator()(MessageId id) const { return ids_.of(IdKind::message, id.value()); }
    std::string operator()(RunId id) const { return ids_.of(IdKind::message, id.value()); }
    std::string operator()(QueueId id) const { return ids_.of(IdKind::queue, id.value()); }
    std::string operator()(WorkerId id) const { return ids_.of(IdKind::worker, id.value()); }
    template <Named T>
    std::string operator()(T value) const {
        return std::string(pawl::to_string(value));
    }
    template <class T>
    std::string operator()(const std::optional<T>& value) const {
        return value ? (*this)(*value) : std::string("none");
    }
    // In lines, or in brackets if there is at most one.
    template <class T>
    std::string operator()(const std::vector<T>& values) const {
        std::string all;
        for (const T& value : values) all += (all.empty() ? "" : "\n    ") + (*this)(value);
        return "[" + all + "]";
    }

    std::string operator()(const QueueInfo& queue) const;
    std::string operator()(const QueueStats& stats) const;
    std::string operator()(const StoreStats& stats) const;
    std::string operator()(const Message& message) const;
    std::string operator()(const ArchivedMessage& message) const;
    std::string operator()(const WorkflowInfo& workflow) const;
    std::string operator()(const WorkflowMetrics& metrics) const;
    std::string operator()(const RunInfo& run) const;
    std::string operator()(const RunCounts& counts) const;
    std::string operator()(const StepInfo& step) const;
    std::string operator()(const RunEvent& event) const;
    std::string operator()(const HistoryEntry& entry) const;
    std::string operator()(const TaskRef& task) const;
    std::string operator()(const TaskInfo& task) const;
    std::string operator()(const Task& task) const;
    std::string operator()(const ScheduleInfo& schedule) const;
    std::string operator()(const OutboxEvent& event) const;
    std::string operator()(const RetentionPolicy& policy) const;
    std::string operator()(const PruneReport::Part& part) const;
    std::string operator()(const WorkerInfo& worker) const;
    std::string operator()(const LostWork& lost) const;
    std::string operator()(const Run& run) const;

    // `asked` is the requested number of messages.
    std::string claim(seam::Claim claim, int asked) const;
    std::string operator()(const seam::ClaimedRun& run) const;
    std::string operator()(const seam::ClaimedTask& task) const;
    std::string operator()(const seam::ReplayStep& step) const;
    std::string operator()(const seam::WriteOutcome& outcome) const;
    std::string operator()(seam::WriteStatus status) const;
    std::string operator()(const seam::HeartbeatResult& result) const;
    std::string operator()(const seam::RunEnd& end) const;
    std::string operator()(const seam::OutboxDelivery& delivery) const;
    std::string operator()(const seam::OutboxClaim& claim) const;
    std::string operator()(const seam::StoredSchedule& schedule) const;
    std::string operator()(const seam::DueSchedules& due) const;
    std::string operator()(const seam::PrunePart& part) const;
    std::string operator()(const seam::PrunedBatch& batch) const;
    std::string operator()(const seam::Backlog& backlog) const;

    // "name=value name=value": of pairs of a name and a value.
    template <class T, class... More>
    std::string fields(const char* name, const T& value, const More&... more) const {
        std::string all = std::string(name) + "=" + (*this)(value);
        if constexpr (sizeof...(more) > 0) all += " " + fields(more...);
        return all;
    }
    [[nodiscard]] Ids& ids() const { return ids_; }

private:
    Ids& ids_;
};

}  // namespace pawl::test::twin
