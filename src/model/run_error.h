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
    std::string step;  // "": outside of any step
    int attempt = 0;   // 0: says nothing
};

[[nodiscard]] Json to_json(const RunError& error);
// Never throws: what is no such JSON becomes the message.
[[nodiscard]] RunError to_run_error(const Json& json);
// One line for people: "step 'charge' failed in attempt 3: card declined (permanent)".
[[nodiscard]] std::string readable(const RunError& error);

// What a handler or a step threw, put into words.
struct Thrown {
    enum class Kind { transient, permanent, pause };
    Kind kind = Kind::transient;
    std::string type;
    std::string message;
    std::optional<Duration> delay;  // of a transient error or a pause that names one
    std::string condition;          // of a pause
};
[[nodiscard]] Thrown describe(const std::exception_ptr& thrown);

}  // namespace pawl::model
