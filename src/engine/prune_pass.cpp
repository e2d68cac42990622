#include "engine/prune_pass.h"

#include <algorithm>
#include <chrono>

#include "engine/reconnect.h"

namespace pawl::engine {

namespace {

// A run may have three steps or thirty thousand, so the batch size adapts to the time of the last
// batch.
constexpr int first_rows = 100;
constexpr auto short_batch = std::chrono::milliseconds(10);
constexpr auto long_batch = std::chrono::milliseconds(40);
// Caps the pause after a batch that was slow because it waited for a connection.
constexpr Duration longest_pause = std::chrono::seconds(2);

}  // namespace

PrunePass::PrunePass(seam::Engine& backend, const PruneOptions& options)
    : backend_(backend), options_(options), rows_(std::min(first_rows, options.batch_rows)) {
    parts_ = retrying(backend_, [&] { return backend_.plan_prune(); });
    report_.dry_run = options_.dry_run;
    for (const seam::PrunePart& part : parts_) report_.parts.push_back({part.kind, part.name, 0});
}

bool PrunePass::step() {
    if (part_ == parts_.size()) return false;
    const seam::PrunePart& part = parts_[part_];
    const seam::PruneBatch batch{part.kind, part.queue, after_, rows_, options_.dry_run};
    const auto start = std::chrono::steady_clock::now();
    const seam::PrunedBatch done = retrying(backend_, [&] { return backend_.prune_batch(batch); });
    took_ = std::chrono::duration_cast<std::chrono::microseconds>(
        std::chrono::steady_clock::now() - start
    );
    report_.parts[part_].pruned += done.pruned;
    ++report_.batches;
    if (done.looked < rows_) {
        ++part_;
        after_.reset();
    } else {
        after_ = done.last;
        adapt_rows();
    }
    return true;
}

void PrunePass::adapt_rows() {
    if (took_ > long_batch) rows_ = std::max(1, rows_ / 2);
    if (took_ < short_batch) rows_ = std::min(options_.batch_rows, rows_ * 2);
}

Duration PrunePass::pause(int share) const {
    return std::min(longest_pause, std::chrono::ceil<Duration>(took_ * (100 - share) / share));
}

}  // namespace pawl::engine
