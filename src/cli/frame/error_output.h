// What goes wrong, in words: one line that says what, one that says what to do.
#pragma once

#include <functional>
#include <pawl/error.h>
#include <string>
#include <vector>

#include "cli/frame/context.h"

namespace pawl::cli {

struct Failure {
    std::string code;  // an ErrorCode's name, or "usage", "output_failed", "internal"
    std::string message;
    std::string hint;  // empty: none
};

[[nodiscard]] Failure describe(const Error& error);
/// Runs `wait`, and reports what it throws with an exit code that says how the run ended.
[[nodiscard]] ExitCode waiting(const Context& context, const std::function<ExitCode()>& wait);
/// The words of the command line: report() shows no password of a URL among them.
void hide_passwords_of(std::vector<std::string> words);
/// On standard error: `pawl: message` and the hint, or one JSON object.
void report(Format format, const Failure& failure);

}  // namespace pawl::cli
