// Lists and counts of runs.
#include <fmt/format.h>
#include <pawl/store.h>

#include "engine/access.h"
#include "model/check.h"
#include "model/check_run.h"
#include "model/rules.h"

namespace pawl::inline v0 {

Run Store::run(RunId id) const {
    return detail::Access::run(*this, id, false);
}

std::vector<RunInfo> Store::runs(const RunFilter& filter, const RunPage& page) const {
    model::check_run_page(page);
    return store_->retrying([&](auto& backend) { return backend.list_runs(filter, page); });
}

RunCounts Store::count_runs(const RunFilter& filter, std::int64_t limit) const {
    constexpr std::int64_t most = model::rules::max_count_limit;
    if (limit < 1 || limit > most)
        model::refuse(fmt::format("the limit of a count must be 1 to {}", most));
    return store_->retrying([&](auto& backend) { return backend.count_runs(filter, limit); });
}

}  // namespace pawl::inline v0
