// Errors for people: one line that says what failed, and one that says what to do.
#pragma once

#include <functional>
#include <pawl/error.h>
#include <string>
#include <vector>

#include "cli/frame/context.h"

namespace pawl::cli {

struct Failure {
    std::string code;  // the name of an ErrorCode, or "usage", "output_failed", "internal"
    std::string message;
    std::string hint;  // may be empty
};

/// An error with a hint of its own, from a command that knows what the user wanted.
class HintedError : public Error {
public:
    HintedError(ErrorCode code, const std::string& message, std::string hint)
        : Error(code, message), hint_(std::move(hint)) {}
    [[nodiscard]] const std::string& hint() const { return hint_; }

private:
    std::string hint_;
};

/// For an unknown name the hint has a similar one, which this reads from the store.
[[nodiscard]] Failure describe(const Context& context, const Error& error);
/// Runs `wait`, and reports what it throws with an exit code that says how the run ended.
[[nodiscard]] ExitCode waiting(const Context& context, const std::function<ExitCode()>& wait);
/// report() hides the passwords of URLs among these words, which are those of the command line.
void hide_passwords_of(std::vector<std::string> words);
/// Writes `pawl: message` and the hint to standard error, or one JSON object.
void report(Format format, const Failure& failure);

}  // namespace pawl::cli
