#include "rowstore/run/run_search.h"

#include <algorithm>

#include "model/counts.h"
#include "model/rules.h"
#include "rowstore/run/run_finder.h"

namespace pawl::rowstore {

namespace {

constexpr std::int64_t most_runs = model::rules::count_limit;

// At least `limit` runs with the status, workflow and time of the filter, if there are so many; in
// no order.
std::vector<FoundRun> find_some(Session& session, const RunFilter& filter, std::int64_t limit) {
    RunFinder finder(session, filter, {});
    for (const auto& workflow : finder.workflows()) {
        const std::int64_t left = limit - static_cast<std::int64_t>(finder.found().size());
        if (left > 0) finder.walk(workflow.id, filter.status, left);
    }
    return std::move(finder.found());
}

std::vector<FoundRun> list_tagged(Session& session, const RunFilter& filter, const RunPage& page) {
    RunFinder finder(session, filter, page.before);
    finder.walk_tag(most_runs, page.limit);
    if (std::cmp_equal(finder.found().size(), page.limit) || !finder.has_more_tagged(most_runs))
        return std::move(finder.found());
    auto some = find_some(session, filter, most_runs + 1);
    finder.found().clear();
    if (std::cmp_greater(some.size(), most_runs)) {
        finder.walk_tag(-1, page.limit);  // no limit
        return std::move(finder.found());
    }
    std::erase_if(some, [&](const FoundRun& run) {
        return (page.before && run.id >= page.before) || !finder.has_tag(run.id);
    });
    std::ranges::sort(some, std::ranges::greater(), &FoundRun::id);
    if (std::cmp_greater(some.size(), page.limit))
        some.resize(static_cast<std::size_t>(page.limit));
    return some;
}

std::vector<FoundRun> list_running(Session& session, const RunFilter& filter, const RunPage& page) {
    RunFinder finder(session, filter, page.before);
    const bool picked = finder.pick_running();
    for (const auto& workflow : finder.workflows()) {
        if (workflow.is_flow) {
            finder.walk_running_flow(workflow.id, page.limit);
        } else if (!picked) {
            finder.walk(workflow.id, filter.status, page.limit);
        }
    }
    return finder.take_newest(static_cast<std::size_t>(page.limit));
}

std::vector<FoundRun> find_page(Session& session, const RunFilter& filter, const RunPage& page) {
    if (filter.tag) return list_tagged(session, filter, page);
    if (filter.status == RunStatus::running && !filter.idempotency_key)
        return list_running(session, filter, page);
    RunFinder finder(session, filter, page.before);
    const bool everything = !filter.workflow && !filter.status && !filter.idempotency_key &&
                            !filter.created_from && !filter.created_before;
    if (everything) {
        finder.walk_all(page.limit);
        return std::move(finder.found());
    }
    for (const auto& workflow : finder.workflows()) {
        if (filter.idempotency_key) {
            finder.walk_key(workflow.id, page.limit);
        } else {
            finder.walk(workflow.id, filter.status, page.limit);
        }
    }
    return finder.take_newest(static_cast<std::size_t>(page.limit));
}

// Counts the runs per status. `all`: no run was left out.
RunCounts count_found(const std::vector<FoundRun>& runs, bool all, std::int64_t limit) {
    RunCounts counts;
    for (const FoundRun& run : runs) ++model::count_of(counts, run.status).value;
    for (Count* of :
         {&counts.queued,
          &counts.running,
          &counts.paused,
          &counts.success,
          &counts.error,
          &counts.cancelled}) {
        *of = model::bounded(of->value, limit);
        of->exact = of->exact && all;
    }
    return counts;
}

RunCounts count_tagged(Session& session, const RunFilter& filter, std::int64_t limit) {
    RunFinder finder(session, filter, {});
    if (!finder.has_more_tagged(2 * limit) || !filter.status) {
        finder.walk_tag(2 * limit, 2 * limit);
        return count_found(finder.found(), !finder.has_more_tagged(2 * limit), limit);
    }
    auto some = find_some(session, filter, limit + 1);
    const bool all = std::cmp_less_equal(some.size(), limit);
    std::erase_if(some, [&](const FoundRun& run) { return !finder.has_tag(run.id); });
    RunCounts counts = count_found(some, true, limit);
    model::count_of(counts, *filter.status).exact = all;
    return counts;
}

// QUEUED and RUNNING runs share an index: twice the limit is read.
void count_live(Session& session, const RunFilter& filter, RunCounts& counts, std::int64_t limit) {
    RunFinder finder(session, filter, {});
    for (const auto& workflow : finder.workflows()) {
        const std::int64_t left = 2 * limit + 1 - static_cast<std::int64_t>(finder.found().size());
        if (left > 0) finder.walk_unpaused(workflow.id, left);
    }
    const bool all = std::cmp_less_equal(finder.found().size(), 2 * limit);
    const RunCounts live = count_found(finder.found(), all, limit);
    if (filter.status != RunStatus::running) counts.queued = live.queued;
    if (filter.status == RunStatus::queued) return;
    counts.running = live.running;
    finder.found().clear();
    if (all || !finder.pick_running()) return;
    for (const auto& workflow : finder.workflows()) {
        if (workflow.is_flow) finder.walk_running_flow(workflow.id, limit + 1);
    }
    counts.running = model::bounded(static_cast<std::int64_t>(finder.found().size()), limit);
}

}  // namespace

std::vector<RunId> list_runs(Session& session, const RunFilter& filter, const RunPage& page) {
    std::vector<RunId> ids;
    for (const FoundRun& run : find_page(session, filter, page)) ids.push_back(run.id);
    return ids;
}

RunCounts count_runs(Session& session, const RunFilter& filter, std::int64_t limit) {
    if (filter.tag) return count_tagged(session, filter, limit);
    if (filter.idempotency_key) {
        RunFinder finder(session, filter, {});
        for (const auto& workflow : finder.workflows()) finder.walk_key(workflow.id, limit + 1);
        return count_found(finder.found(), true, limit);
    }
    RunCounts counts;
    for (const RunStatus status :
         {RunStatus::paused, RunStatus::success, RunStatus::error, RunStatus::cancelled}) {
        if (filter.status.value_or(status) != status) continue;
        RunFilter one = filter;
        one.status = status;
        const auto found = find_some(session, one, limit + 1);
        model::count_of(counts, status) =
            model::bounded(static_cast<std::int64_t>(found.size()), limit);
    }
    const RunStatus asked = filter.status.value_or(RunStatus::queued);
    if (asked == RunStatus::queued || asked == RunStatus::running)
        count_live(session, filter, counts, limit);
    return counts;
}

}  // namespace pawl::rowstore
