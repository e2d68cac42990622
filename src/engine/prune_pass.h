// One pass over the policies of retention, batch by batch. Who drives it decides when.
#pragma once

#include "seam/engine.h"

namespace pawl::engine {

class PrunePass {
public:
    PrunePass(seam::Engine& backend, const PruneOptions& options);

    // One batch. False: the pass is through.
    bool step();
    // After the last batch, so that the work takes at most that percentage of the time.
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
    std::chrono::microseconds took_{0};  // the last batch
    PruneReport report_;
};

}  // namespace pawl::engine
