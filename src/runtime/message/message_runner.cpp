#include "runtime/message/message_runner.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/random.h"
#include "engine/access.h"
#include "model/backoff.h"
#include "model/check.h"
#include "model/run_error.h"
#include "runtime/metrics/metered_report.h"
#include "runtime/work_log.h"

namespace pawl::runtime {

using seam::Write;

namespace {

// No retry means that the message becomes a dead letter.
void log_message_failure(
    const MessageCall& call,
    const Message& message,
    std::optional<Duration> retry_in,
    std::string_view error
) {
    const int limit = call.log().max_attempts_of(call.spec().queue);
    WorkLog::Attempt attempt{message.attempts + 1, limit, retry_in};
    if (limit > 0 && attempt.number >= limit) attempt.retry_in.reset();
    call.log().failed(call.subject(), attempt, error);
}

}  // namespace

std::string MessageCall::subject() const {
    if (batch.size() > 1)
        return fmt::format("{} messages of queue '{}'", batch.size(), spec().queue);
    return subject_of(spec(), batch.front().id);
}

std::optional<std::vector<Write>> MessageCall::execute() {
    return runner_.run(*this);
}

void MessageCall::decide(const Message& message, seam::WriteAction action) {
    const auto at = std::ranges::find(batch, message.lease(), &Message::lease);
    if (at == batch.end())
        throw Error(
            ErrorCode::invalid_argument,
            fmt::format(
                "message {} does not belong to this call of the handler", message.id.value()
            )
        );
    decisions[static_cast<std::size_t>(at - batch.begin())] = std::move(action);
}

std::vector<Write> MessageRunner::run(MessageCall& call) const {
    call.decisions.resize(call.batch.size());
    try {
        const CallMeter meter(call);
        detail::Access::with_context(call, [&](HandlerContext& context) {
            call.spec().handler(context);
        });
    } catch (...) {
        return failed(call, std::current_exception());
    }
    std::vector<Write> writes;
    writes.reserve(call.batch.size());
    for (std::size_t i = 0; i < call.batch.size(); ++i) {
        const Message& message = call.batch[i];
        auto& decision = call.decisions[i];
        if (!decision) decision = seam::Archive{};
        if (auto* const fail = std::get_if<seam::Fail>(&*decision)) {
            fail->retry_after = backoff(message);
            log_message_failure(call, message, fail->retry_after, fail->error);
        }
        writes.push_back({message.lease(), std::move(*decision)});
    }
    return writes;
}

std::vector<Write> MessageRunner::failed(const MessageCall& call, const std::exception_ptr& thrown)
    const {
    const model::Thrown why = model::describe(thrown);
    const bool permanent = why.kind == model::Thrown::Kind::permanent;
    const std::string error = model::storable_text(
        permanent ? fmt::format("{}: {}", why.type, why.message) : why.message
    );
    std::vector<Write> writes;
    std::optional<Duration> first_retry;
    for (const Message& message : call.batch) {
        if (permanent) {
            writes.push_back({message.lease(), seam::Bury{error}});
            continue;
        }
        const Duration delay = std::max(why.delay.value_or(backoff(message)), Duration::zero());
        if (!first_retry) first_retry = delay;
        writes.push_back({message.lease(), seam::Fail{error, delay}});
    }
    log_message_failure(call, call.batch.front(), first_retry, error);
    return writes;
}

Duration MessageRunner::backoff(const Message& message) const {
    return model::backoff(
        message.attempts, options_.backoff_base, options_.backoff_cap, base::random_fraction()
    );
}

}  // namespace pawl::runtime
