// Reads the results of claim(), claim_queue(), claim_runs() and claim_tasks().
#pragma once

#include "postgres/driver/rows.h"
#include "seam/claim.h"

namespace pawl::postgres {

struct ReadClaim {
    seam::Claim claim;
    bool looked = false;  // whether due rows were searched
    QueueId queue;        // only of claim_queue()
};
[[nodiscard]] ReadClaim read_claim(const Rows& rows, const seam::ClaimRequest& request);

[[nodiscard]] StepStatus to_step_status(std::string_view name);

}  // namespace pawl::postgres
