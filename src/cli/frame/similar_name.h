// "did you mean" for the names of queues, workflows, flows and schedules.
#pragma once

#include <pawl/error.h>
#include <string>

#include "cli/frame/context.h"

namespace pawl::cli {

/// The hint for an unknown name: "did you mean 'order'?". Empty if the store has no similar name,
/// if the error is not about a name, or if the store cannot be read.
[[nodiscard]] std::string similar_name(
    const Context& context, ErrorCode code, const std::string& name
);

}  // namespace pawl::cli
