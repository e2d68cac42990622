// Reads what the functions claim() and claim_runs() return.
#pragma once

#include "postgres/driver/rows.h"
#include "seam/claim.h"

namespace pawl::postgres {

struct ReadClaim {
    seam::Claim claim;
    bool looked = false;  // for due rows
};
[[nodiscard]] ReadClaim read_claim(const Rows& rows, const seam::ClaimRequest& request);

[[nodiscard]] StepStatus to_step_status(std::string_view name);

}  // namespace pawl::postgres
