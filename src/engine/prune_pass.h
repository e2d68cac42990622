// One pass over the retention policies, batch by batch. The caller decides when each batch runs.
#pragma once

#include "seam/engine.h"

namespace pawl::engine {

class PrunePass {
public:
    PrunePass(seam::Engine& backend, const PruneOptions& options);

    // Prunes one batch. Returns false if the pass is complete.
    bool step();
    // The pause after the last batch that keeps pruning below `share` percent of the time.
    [[nodiscard]] Duration pause(int share) const;
    [[nodiscard]] const PruneReport& report() const { return report_; }

private:
    void adapt_rows();

    seam::Engine& backend_;
    const PruneOptions options_;
    std::vector<seam::PrunePart> parts_;
    std::size_t part_ = 0;
    std::optional<seam::PrunePosition> after_;  // where the last batch of this part ended
    int rows_;
    std::chrono::microseconds took_{0};  // duration of the last batch
    PruneReport report_;
};

}  // namespace pawl::engine
