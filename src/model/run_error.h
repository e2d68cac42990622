// The stored error of a step or a run: JSON with type, message, step, attempt.
#pragma once

#include <exception>
#include <optional>
#include <pawl/types.h>
#include <string>
#include <string_view>

namespace pawl::model {

struct RunError {
    std::string type;
    std::string message;
    std::string step;  // empty if outside of steps
    int attempt = 0;   // 0 means unknown
};

[[nodiscard]] Json to_json(const RunError& error);
// Never throws: other JSON becomes the message.
[[nodiscard]] RunError to_run_error(const Json& json);
// A one-line text: "step 'charge' failed in attempt 3: card declined (permanent)".
[[nodiscard]] std::string readable(const RunError& error);

// The description of an exception that a handler or a step threw.
struct Thrown {
    enum class Kind { transient, permanent, pause };
    Kind kind = Kind::transient;
    std::string type;
    std::string message;
    std::optional<Duration> delay;  // for a transient error or a pause, if set
    std::string condition;          // for a pause
};
[[nodiscard]] Thrown describe(const std::exception_ptr& thrown);

}  // namespace pawl::model
