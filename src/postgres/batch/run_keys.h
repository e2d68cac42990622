// Parameters of statements about one run.
#pragma once

#include <pawl/types.h>
#include <string>

#include "postgres/driver/params.h"

namespace pawl::postgres {

[[nodiscard]] inline Params one_run(RunId run) {
    Params params;
    params.int8(run.value());
    return params;
}

[[nodiscard]] inline Params run_and_text(RunId run, const std::string& text) {
    Params params;
    params.int8(run.value()).text(text);
    return params;
}

}  // namespace pawl::postgres
