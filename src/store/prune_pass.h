// One pass over the policies of retention, batch by batch. Who drives it decides when.
#pragma once

#include "store/backend.h"

namespace pawl::store {

class PrunePass {
public:
    PrunePass(Backend& backend, const PruneOptions& options);

    // One batch. False: the pass is through.
    bool step();
    // After the last batch, so that the work takes at most that percentage of the time.
    [[nodiscard]] Duration pause(int share) const;
    [[nodiscard]] const PruneReport& report() const { return report_; }

private:
    void adapt_rows();

    Backend& backend_;
    const PruneOptions options_;
    std::vector<PrunePart> parts_;
    std::size_t part_ = 0;
    std::optional<PrunePosition> after_;  // where the last batch of this part ended
    int rows_;
    std::chrono::microseconds took_{0};  // the last batch
    PruneReport report_;
};

}  // namespace pawl::store
