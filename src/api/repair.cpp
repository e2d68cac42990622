// Lost work: finding it, and restoring its messages.
#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <limits>
#include <pawl/store.h>

#include "engine/open_store.h"
#include "engine/reconnect.h"
#include "model/rules.h"
#include "seam/backend.h"

namespace pawl::inline v0 {

using engine::retrying;

namespace {

constexpr int pages_of_verify = 10;

std::vector<LostWork> lost_work(seam::Backend& backend, int max_pages) {
    std::vector<LostWork> lost;
    seam::LostPosition after;
    for (int page = 0; page < max_pages; ++page) {
        auto found = retrying(backend, [&] {
            return backend.find_lost_work(after, model::rules::repair_page_rows);
        });
        std::ranges::move(found.lost, std::back_inserter(lost));
        if (found.looked < model::rules::repair_page_rows) break;
        after = found.last;
    }
    return lost;
}

}  // namespace

std::string to_string(const LostWork& lost) {
    if (lost.step.empty())
        return fmt::format("run {} of workflow '{}'", lost.run.value(), lost.workflow);
    return fmt::format(
        "task {} of step '{}' in run {} of flow '{}'",
        lost.task_index,
        lost.step,
        lost.run.value(),
        lost.workflow
    );
}

SchemaReport Store::verify() const {
    SchemaReport report = store_->retrying([&](auto& backend) { return backend.verify(); });
    // Queries on a damaged schema may fail because of the damage.
    if (!report.ok()) return report;
    report.lost_work = lost_work(*store_->backend(), pages_of_verify);
    return report;
}

std::vector<LostWork> Store::find_lost_work() const {
    return lost_work(*store_->backend(), std::numeric_limits<int>::max());
}

std::vector<LostWork> Store::repair() const {
    return store_->retrying([&](auto& backend) { return backend.repair(); });
}

}  // namespace pawl::inline v0
