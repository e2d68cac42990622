#include "model/run_error.h"

#include <algorithm>
#include <cxxabi.h>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <pawl/error.h>
#include <typeinfo>

#include "model/check.h"

namespace pawl::model {

namespace {

std::string type_name(const std::exception& error) {
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> name(
        abi::__cxa_demangle(typeid(error).name(), nullptr, nullptr, &status), &std::free
    );
    return status == 0 ? name.get() : typeid(error).name();
}

bool is_permanent(ErrorCode code) {
    return code == ErrorCode::serialization_error || code == ErrorCode::context_misuse ||
           code == ErrorCode::payload_too_large || code == ErrorCode::invalid_payload ||
           code == ErrorCode::invalid_argument || code == ErrorCode::step_failed;
}

// A time out of bounds is a permanent error: it is a mistake of the program, so a retry cannot
// succeed.
template <class Check>
std::optional<Thrown> problem_with(Check check) {
    try {
        check();
        return std::nullopt;
    } catch (const Error& error) {
        const std::string type(to_string(error.code()));
        return Thrown{Thrown::Kind::permanent, type, error.what(), {}, {}};
    }
}

std::optional<Thrown> problem_of(const PauseError& error) {
    if (!error.check_after()) return std::nullopt;
    return problem_with([&] { check_positive("PauseError: check_after", *error.check_after()); });
}

// A negative delay means now.
std::optional<Thrown> problem_of(const TransientError& error) {
    const Duration delay = std::max(error.retry_after().value_or(Duration{0}), Duration{0});
    return problem_with([&] { check_delay("TransientError: retry_after", delay); });
}

}  // namespace

Json to_json(const RunError& error) {
    nlohmann::ordered_json json;
    json["type"] = error.type;
    json["message"] = storable_text(error.message);
    if (!error.step.empty()) json["step"] = error.step;
    if (error.attempt > 0) json["attempt"] = error.attempt;
    return Json{json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)};
}

RunError to_run_error(const Json& json) {
    const auto parsed = nlohmann::json::parse(json.text, nullptr, false);
    if (!parsed.is_object()) return {"unknown", json.text, {}, 0};
    const auto text = [&](const char* key) {
        const auto at = parsed.find(key);
        return at != parsed.end() && at->is_string() ? at->get<std::string>() : std::string();
    };
    const auto attempt = parsed.find("attempt");
    return {
        text("type"),
        text("message"),
        text("step"),
        attempt != parsed.end() && attempt->is_number_integer() ? attempt->get<int>() : 0};
}

std::string readable(const RunError& error) {
    if (error.step.empty()) return fmt::format("{}: {}", error.type, error.message);
    return fmt::format(
        "step '{}' failed in attempt {}: {} ({})",
        error.step,
        error.attempt,
        error.message,
        error.type
    );
}

Thrown describe(const std::exception_ptr& thrown) {
    try {
        std::rethrow_exception(thrown);
    } catch (const PauseError& error) {
        if (const auto bad = problem_of(error)) return *bad;
        return {Thrown::Kind::pause, "pause", error.what(), error.check_after(), error.condition()};
    } catch (const PermanentError& error) {
        return {Thrown::Kind::permanent, "permanent", error.what(), {}, {}};
    } catch (const TransientError& error) {
        if (const auto bad = problem_of(error)) return *bad;
        return {Thrown::Kind::transient, "transient", error.what(), error.retry_after(), {}};
    } catch (const Error& error) {
        const auto kind =
            is_permanent(error.code()) ? Thrown::Kind::permanent : Thrown::Kind::transient;
        return {kind, std::string(to_string(error.code())), error.what(), {}, {}};
    } catch (const std::exception& error) {
        return {Thrown::Kind::transient, type_name(error), error.what(), {}, {}};
    } catch (...) {
        return {
            Thrown::Kind::transient,
            "unknown",
            "an exception that is not a std::exception",
            {},
            {}};
    }
}

}  // namespace pawl::model
