// What goes wrong, in words: one line that says what, one that says what to do.
#pragma once

#include <pawl/error.h>
#include <string>

#include "cli/context.h"

namespace pawl::cli {

struct Failure {
    std::string code;  // an ErrorCode's name, or "usage", "output_failed", "internal"
    std::string message;
    std::string hint;  // empty: none
};

[[nodiscard]] Failure describe(const Error& error);
/// On standard error: `pawl: message` and the hint, or one JSON object.
void report(Format format, const Failure& failure);

}  // namespace pawl::cli
