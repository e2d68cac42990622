#include <fmt/format.h>
#include <pawl/context.h>

#include "runtime/run/run_context.h"

namespace pawl {

StepGuard Context::acquire(const std::string& id) {
    auto [unique_id, result] = context_.acquire(id);
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
    context_.succeed(id_, output);
    recorded_ = output;
}

void StepGuard::undecodable() const {
    context_.throw_undecodable(id_, std::current_exception());
}

void StepGuard::failure(const std::string& message) {
    context_.fail(id_, message);
}

Json Context::step_json(const std::string& id, const StepOptions& options, Body body) {
    return context_.step(id, options, body);
}

Json Context::pause_json(
    const std::string& step, const std::string& message, std::optional<Duration> check_after
) {
    return context_.pause(step, message, check_after);
}

void Context::rejected(const std::string& step, const Question& question) {
    const std::exception_ptr why = std::current_exception();
    context_.reject_answer(step, question.message, question.check_after, why);
}

void Context::undecodable(const std::string& step) {
    context_.throw_undecodable(context_.id_of(step), std::current_exception());
}

Json Context::call_json(const std::string& id, const NewRun& run) {
    return context_.call(id, run);
}

void Context::publish(const std::string& type, const Json& payload, const std::string& aggregate) {
    context_.publish(type, payload, aggregate);
}

void Context::sleep(Duration time) {
    context_.sleep(time);
}
void Context::sleep_until(Timestamp time) {
    context_.sleep_until(time);
}
bool Context::cancelled() const {
    return context_.cancelled();
}
std::stop_token Context::stop_token() const {
    return context_.stop_token();
}
void Context::heartbeat() {
    context_.heartbeat();
}
RunId Context::run_id() const {
    return context_.run_call().id();
}
const std::string& Context::workflow() const {
    return context_.run_call().workflow->name;
}
int Context::delivery() const {
    return context_.run_call().message.delivery;
}
int Context::attempt() const {
    return context_.attempt();
}
bool Context::is_replaying() const {
    return context_.replaying();
}

void Context::log(LogLevel level, std::string_view message) const {
    const std::string line =
        fmt::format("run {} of workflow '{}': {}", run_id().value(), workflow(), message);
    context_.backend().log().write(level, line);
}

}  // namespace pawl
