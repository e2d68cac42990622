#include "model/history.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "model/event_kinds.h"

namespace pawl::model {

namespace {

constexpr int no_step = std::numeric_limits<int>::max();  // sorts after all steps

using Kind = EventKind;

template <std::size_t N>
bool is_one_of(const std::array<Kind, N>& kinds, const HistoryEntry& entry) {
    const auto kind = event_kind(entry.kind);
    return kind && std::ranges::find(kinds, *kind) != kinds.end();
}

constexpr std::array run_end_kinds{
    Kind::run_succeeded,
    Kind::run_failed,
    Kind::cancelled,
    Kind::poison,
    Kind::no_handler_registered,
    Kind::buried};
constexpr std::array step_end_kinds{
    Kind::step_succeeded, Kind::step_failed, Kind::step_skipped, Kind::step_cancelled};
constexpr std::array task_end_kinds{
    Kind::task_succeeded, Kind::task_failed, Kind::task_skipped, Kind::task_cancelled};
constexpr std::array after_end_kinds{Kind::retried, Kind::forked, Kind::deleted};

// Equal for a row and an event about the same fact.
std::string identity(const HistoryEntry& entry) {
    std::string id = entry.kind + '/' + entry.step;
    // The event of a skip names the task that failed.
    if (entry.task_index && !is(entry, Kind::step_skipped))
        id += '/' + std::to_string(*entry.task_index);
    if (is(entry, Kind::task_started)) id += '/' + std::to_string(entry.attempt);
    return id;
}

// The event has the worker and the delivery, the row usually has the result.
void add_to_row(HistoryEntry& row, HistoryEntry event) {
    if (!row.worker) row.worker = event.worker;
    if (event.delivery > 0) row.delivery = event.delivery;
    if (row.attempt == 0) row.attempt = event.attempt;
    if (is(row, Kind::cancelled) || is(row, Kind::deleted)) row.data = std::move(event.data);
}

// Order of entries with equal times: the beginning of the run, its deliveries (a flow has none)
// with their steps in order, each with its start, its events and its end; then the run's end.
struct Place {
    Timestamp at;
    int phase = 1;
    int delivery = 0;
    int position = no_step;
    int part = 1;
    int task = -1;
    int attempt = 0;
    int rank = 1;
    std::size_t event = 0;

    [[nodiscard]] auto key() const {
        return std::tuple(at, phase, delivery, position, part, task, attempt, rank, event);
    }
};

class Order {
public:
    explicit Order(const RunRows& rows) : is_flow_(rows.run.remaining_steps.has_value()) {
        for (const StepInfo& step : rows.steps) positions_.emplace(step.id, step.position);
    }

    [[nodiscard]] Place place_of(const HistoryEntry& entry, std::size_t event) const {
        Place place;
        place.at = entry.at;
        place.event = event;
        if (is(entry, Kind::triggered) || is(entry, Kind::step_taken_over)) {
            place.phase = 0;
            place.position = -1;
        } else if (is_one_of(run_end_kinds, entry)) {
            place.phase = 2;
        } else if (is_one_of(after_end_kinds, entry)) {
            place.phase = 3;
        } else if (is(entry, Kind::started)) {
            place.position = -1;
        }
        if (!is_flow_ && place.phase == 1) place.delivery = entry.delivery;
        if (entry.step.empty() || place.phase > 1) return place;
        const auto position = positions_.find(entry.step);
        if (position != positions_.end()) place.position = position->second;
        if (is(entry, Kind::step_started)) place.part = 0;
        if (is_one_of(step_end_kinds, entry)) place.part = 2;
        place.task = entry.task_index.value_or(-1);
        place.attempt = entry.attempt;
        if (is(entry, Kind::task_started)) place.rank = 0;
        if (is(entry, Kind::resumed) || is_one_of(task_end_kinds, entry)) place.rank = 2;
        return place;
    }

private:
    bool is_flow_;
    std::unordered_map<std::string, int> positions_;
};

// A step with a single task ends together with it: only the step's entry is kept.
void join_single_tasks(std::vector<HistoryEntry>& entries, const RunRows& rows) {
    const auto step_end = [&](const HistoryEntry& task) {
        const auto step = std::ranges::find(rows.steps, task.step, &StepInfo::id);
        if (step == rows.steps.end() || step->initial_tasks != 1) return entries.end();
        return std::ranges::find_if(entries, [&](const HistoryEntry& entry) {
            return entry.step == task.step && entry.at == task.at &&
                   is_one_of(step_end_kinds, entry) && entry.kind.substr(5) == task.kind.substr(5);
        });
    };
    for (HistoryEntry& entry : entries) {
        const auto step = is_one_of(task_end_kinds, entry) ? step_end(entry) : entries.end();
        if (step == entries.end()) continue;
        step->attempt = entry.attempt;
        step->delivery = entry.delivery;
        step->worker = entry.worker;
        entry.kind.clear();
    }
    std::erase_if(entries, [](const HistoryEntry& entry) { return entry.kind.empty(); });
}

}  // namespace

std::vector<HistoryEntry> merge_history(const RunRows& rows, const std::vector<RunEvent>& events) {
    std::vector<HistoryEntry> entries = entries_of_rows(rows, events);
    std::vector<std::size_t> order(entries.size(), 0);
    std::unordered_map<std::string, std::size_t> in_rows;
    for (std::size_t i = 0; i < entries.size(); ++i) in_rows.emplace(identity(entries[i]), i);
    for (std::size_t i = 0; i < events.size(); ++i) {
        HistoryEntry event = entry_of_event(events[i]);
        // Extracted, because a later start, in the next delivery, is another fact.
        if (const auto row = in_rows.extract(identity(event)); !row.empty()) {
            order[row.mapped()] = i + 1;
            add_to_row(entries[row.mapped()], std::move(event));
        } else {
            entries.push_back(std::move(event));
            order.push_back(i + 1);
        }
    }

    std::vector<std::pair<Place, HistoryEntry>> placed;
    placed.reserve(entries.size());
    const Order places(rows);
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const Place place = places.place_of(entries[i], order[i]);
        placed.emplace_back(place, std::move(entries[i]));
    }
    std::ranges::stable_sort(placed, {}, [](const auto& entry) { return entry.first.key(); });
    entries.clear();
    for (auto& [place, entry] : placed) entries.push_back(std::move(entry));
    join_single_tasks(entries, rows);
    for (HistoryEntry& entry : entries) entry.text = history_text(entry, rows.run);
    return entries;
}

}  // namespace pawl::model
