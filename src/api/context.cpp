#include <fmt/format.h>
#include <pawl/context.h>

#include "runtime/run/run_context.h"
#include "runtime/run/run_publish.h"

namespace pawl::inline v0 {

namespace {

// Adds the run to the error about the result of a step, which names the step.
template <class Call>
[[noreturn]] void naming_run(runtime::RunContext& context, Call call) {
    try {
        call();  // always throws
    } catch (const Error& error) {
        if (error.code() != ErrorCode::serialization_error) throw;
        const runtime::RunCall& run = context.execution.call();
        throw Error(
            error.code(),
            fmt::format(
                "run {} of workflow '{}': {}", run.id().value(), run.workflow->name, error.what()
            )
        );
    }
    std::terminate();
}

}  // namespace

StepGuard Context::acquire(std::string_view id) {
    auto [unique_id, result] = context_.steps.acquire(std::string(id));
    return {context_, std::move(unique_id), std::move(result)};
}

const Json& StepGuard::output_json() const {
    if (recorded_) return *recorded_;
    throw Error(
        ErrorCode::context_misuse,
        fmt::format("step '{}' has no output yet: ask skipped() first", id_)
    );
}

void StepGuard::success(const Json& output) {
    context_.steps.succeed(id_, output);
    recorded_ = output;
}

void StepGuard::undecodable() const {
    naming_run(context_, [&] { runtime::throw_undecodable(id_, std::current_exception()); });
}

void StepGuard::failure(std::string_view message) {
    context_.steps.fail(id_, std::string(message));
}

Json Context::step_json(std::string_view id, const StepOptions& options, Body body) {
    return context_.steps.step(std::string(id), options, body);
}

Json Context::pause_json(
    std::string_view step, std::string_view message, std::optional<Duration> check_after
) {
    return context_.waits.pause(std::string(step), std::string(message), check_after);
}

void Context::rejected(std::string_view step, const Question& question) {
    const std::exception_ptr why = std::current_exception();
    naming_run(context_, [&] {
        context_.waits.reject_answer(
            std::string(step), question.message, question.check_after, why
        );
    });
}

void Context::undecodable(std::string_view step) {
    const std::exception_ptr why = std::current_exception();
    naming_run(context_, [&] {
        runtime::throw_undecodable(context_.execution.step_log().last_id(std::string(step)), why);
    });
}

Json Context::call_json(std::string_view id, const NewRun& run) {
    return context_.calls.call(std::string(id), run);
}

void Context::publish(std::string_view type, const Json& payload, std::string_view aggregate) {
    runtime::publish_event(context_.execution, std::string(type), payload, std::string(aggregate));
}

void Context::sleep(Duration time) {
    context_.waits.sleep(time);
}
void Context::sleep_until(Timestamp time) {
    context_.waits.sleep_until(time);
}
bool Context::cancelled() const {
    return context_.execution.cancelled();
}
std::stop_token Context::stop_token() const {
    return context_.stop_token();
}
void Context::heartbeat() {
    context_.heartbeat();
}
RunId Context::run_id() const {
    return context_.execution.call().id();
}
const std::string& Context::workflow() const {
    return context_.execution.call().workflow->name;
}
int Context::delivery() const {
    return context_.execution.call().message.delivery;
}
int Context::attempt() const {
    return context_.attempt();
}
bool Context::is_replaying() const {
    return context_.execution.step_log().replaying();
}

void Context::log(LogLevel level, std::string_view message) const {
    const std::string line =
        fmt::format("run {} of workflow '{}': {}", run_id().value(), workflow(), message);
    context_.execution.backend().log().write(level, line);
}

}  // namespace pawl::inline v0
