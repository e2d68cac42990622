// What a workflow's function works with. Each ctx.step() is recorded: when the run is taken up
// again after a crash, a pause or a retry, the function is called anew and recorded steps give
// their recorded results without running.
#pragma once

#include <concepts>
#include <functional>
#include <optional>
#include <pawl/error.h>
#include <pawl/run.h>
#include <pawl/types.h>
#include <pawl/workflow.h>
#include <stop_token>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace pawl {

enum class LogLevel;

namespace runtime {
class RunContext;
}

struct StepOptions {
    std::optional<int> max_attempts = {};  ///< executions, the first included; default: the run's
    std::optional<Duration> backoff_base = {};  ///< default: the workflow's
    std::optional<Duration> backoff_cap = {};
    /// After that time stop_token() is requested, and the attempt counts as failed whatever the
    /// body still returns.
    std::optional<Duration> timeout = {};
    std::optional<Json> input = {};  ///< kept with the step, for people to see
};

/// A step driven by hand: if (guard.skipped()) use guard.output(); else ... guard.success(value).
class StepGuard {
public:
    StepGuard(runtime::RunContext& context, std::string id, std::optional<Json> recorded)
        : context_(context), id_(std::move(id)), recorded_(std::move(recorded)) {}
    /// True when the step has its result already.
    [[nodiscard]] bool skipped() const { return recorded_.has_value(); }
    template <class T = Json>
    [[nodiscard]] T output() const {
        try {
            return JsonCodec<T>::decode(output_json());
        } catch (const std::exception&) {
            if (!skipped()) throw;
            undecodable();
        }
    }
    /// Returns when the result is committed.
    void success(const Json& output = {});
    template <class T>
    void success(const T& value) {
        success(JsonCodec<T>::encode(value));
    }
    /// Records the step as failed and throws the StepError that every replay will throw.
    [[noreturn]] void failure(const std::string& message);

private:
    [[nodiscard]] const Json& output_json() const;
    [[noreturn]] void undecodable() const;  // while the exception of the codec is handled
    runtime::RunContext& context_;
    std::string id_;
    std::optional<Json> recorded_;
};

/// Belongs to the thread that runs the workflow's function; calls from other threads are refused
/// (context_misuse), but for stop_token(), cancelled() and the plain look-ups.
class Context {
public:
    explicit Context(runtime::RunContext& implementation) : context_(implementation) {}
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    /// Runs `body` unless its result is recorded, records the result and returns it; returns only
    /// when it is committed, and gives what was stored, decoded. A body that throws is executed
    /// again after the backoff until its attempts are used up, without blocking the worker; with a
    /// PermanentError, or then, the step has failed and every replay throws the same StepError.
    /// `id`: 1 to 255 bytes, no '#'; the same id again in a run becomes "id#2".
    template <std::invocable F>
    auto step(const std::string& id, F&& body) {
        return step(id, StepOptions{}, std::forward<F>(body));
    }
    template <std::invocable F>
    auto step(const std::string& id, const StepOptions& options, F&& body) {
        using Result = std::remove_cvref_t<std::invoke_result_t<F&>>;
        if constexpr (std::is_void_v<Result>) {
            auto run = [&body]() -> Json {
                std::invoke(body);
                return Json{};
            };
            (void)step_json(id, options, Body(run));
        } else {
            auto run = [&body]() -> Json { return JsonCodec<Result>::encode(std::invoke(body)); };
            return decoded<Result>(step_json(id, options, Body(run)), [&] { rejected(id, {}); });
        }
    }
    [[nodiscard]] StepGuard acquire(const std::string& id);

    /// Pauses the run until somebody calls store.resume(run, step, data); returns the data. Data
    /// that does not decode into T is rejected: the run pauses again, with the reason as the step's
    /// message, and can be resumed again. A paused run holds no thread. Replayed every
    /// `check_after` (default: the store's pause_check_interval; above 0, up to 100 years), in case
    /// the function wants to decide otherwise.
    template <class T = Json>
    T pause(
        const std::string& step,
        const std::string& message,
        std::optional<Duration> check_after = std::nullopt
    ) {
        return decoded<T>(pause_json(step, message, check_after), [&] {
            rejected(step, {message, check_after});
        });
    }
    /// Triggers a run of another workflow or flow, once, waits for its end as a paused run (no
    /// thread is held) and returns its output. Recorded as the step `id`. Where that run fails or
    /// is cancelled, StepError, the same on every replay. Cancelling this run cancels that one.
    template <class T = Json>
    T call(const std::string& id, const Trigger& trigger) {
        return decoded<T>(call_json(id, trigger.run()), [&] { undecodable(id); });
    }
    template <class R>
    R call(const std::string& id, const TriggerOf<R>& trigger) {
        if constexpr (std::is_void_v<R>) {
            (void)call_json(id, trigger.run());
        } else {
            return decoded<R>(call_json(id, trigger.run()), [&] { undecodable(id); });
        }
    }

    /// Puts an event into the outbox, recorded like a step: a replay does not publish twice. Its
    /// aggregate is the run unless one is given.
    void publish(const std::string& type, const Json& payload, const std::string& aggregate = {});
    template <class T>
    void publish(const std::string& type, const T& payload, const std::string& aggregate = {}) {
        publish(type, JsonCodec<T>::encode(payload), aggregate);
    }

    /// Durable timers, by the database's clock: the run is PAUSED and holds no thread.
    /// Up to 100 years, or to the year 9999; a time that has passed does not sleep.
    void sleep(Duration time);
    void sleep_until(Timestamp time);

    /// True when the run was cancelled, or its lease lost: nothing of it will be recorded.
    [[nodiscard]] bool cancelled() const;
    /// Requested when the run is cancelled, its lease lost, its step's or its own time over, or the
    /// worker stops. A long body does well to look.
    [[nodiscard]] std::stop_token stop_token() const;
    /// Extends the lease now and unwinds the function where the run is not ours any more. The
    /// worker does it by itself every ConnectOptions::heartbeat.
    void heartbeat();

    [[nodiscard]] RunId run_id() const;
    [[nodiscard]] const std::string& workflow() const;
    [[nodiscard]] int delivery() const;  ///< how often the run was handed to a worker
    [[nodiscard]] int attempt() const;   ///< of the step being executed; else of the run. From 1
    /// True while the steps it comes to are recorded ones.
    [[nodiscard]] bool is_replaying() const;
    /// To the store's log hook, with the run's id.
    void log(LogLevel level, std::string_view message) const;

    /// A body as the engine sees it: a function that returns JSON. Refers to what it was made of.
    class Body {
    public:
        template <class F>
        explicit Body(F& function)
            : object_(&function),
              call_([](void* object) { return (*static_cast<F*>(object))(); }) {}
        Json operator()() const { return call_(object_); }

    private:
        void* object_;
        Json (*call_)(void*);
    };
    Json step_json(const std::string& id, const StepOptions& options, Body body);
    Json pause_json(
        const std::string& step, const std::string& message, std::optional<Duration> check_after
    );
    Json call_json(const std::string& id, const NewRun& run);

private:
    struct Question {
        std::string message = {};
        std::optional<Duration> check_after = {};
    };
    template <class T, class Refuse>
    static T decoded(Json json, Refuse refuse) {
        try {
            return JsonCodec<T>::decode(std::move(json));
        } catch (...) {
            refuse();
            throw;
        }
    }
    // Both are called while the exception of the codec is handled, and throw. An answer that no
    // execution has used before is rejected: the run pauses at the step again.
    [[noreturn]] void rejected(const std::string& step, const Question& question);
    [[noreturn]] void undecodable(const std::string& step);

    runtime::RunContext& context_;
};

/// A workflow's function as the engine sees it: JSON in, JSON out.
using WorkflowHandler = std::function<Json(Context&, const Json&)>;

namespace detail {

template <class F>
struct HandlerSignature : HandlerSignature<decltype(&F::operator())> {};
template <class R, class... Arguments>
struct HandlerSignature<R (*)(Arguments...)> {
    template <std::size_t I>
    using Argument = std::tuple_element_t<I, std::tuple<Arguments...>>;
    static constexpr std::size_t count = sizeof...(Arguments);
};
template <class R, class... Arguments>
struct HandlerSignature<R(Arguments...)> : HandlerSignature<R (*)(Arguments...)> {};
template <class R, class C, class... Arguments>
struct HandlerSignature<R (C::*)(Arguments...)> : HandlerSignature<R (*)(Arguments...)> {};
template <class R, class C, class... Arguments>
struct HandlerSignature<R (C::*)(Arguments...) const> : HandlerSignature<R (*)(Arguments...)> {};

template <class Call>
Json encoded_result(Call call) {
    using Result = std::remove_cvref_t<std::invoke_result_t<Call&>>;
    if constexpr (std::is_void_v<Result>) {
        call();
        return Json{};
    } else {
        return JsonCodec<Result>::encode(call());
    }
}

}  // namespace detail

/// Wraps (Context&), (Context&, P) or (Context&, const P&), returning anything that converts to
/// JSON, or void. P pawl::Json: the text as it is.
template <class F>
WorkflowHandler make_workflow_handler(F function) {
    if constexpr (std::invocable<F&, Context&>) {
        return [function = std::move(function)](Context& context, const Json&) mutable {
            return detail::encoded_result([&] { return function(context); });
        };
    } else {
        using Signature = detail::HandlerSignature<F>;
        static_assert(Signature::count == 2, "a workflow's function takes (Context&, parameters)");
        using Params = std::remove_cvref_t<typename Signature::template Argument<1>>;
        return [function = std::move(function)](Context& context, const Json& input) mutable {
            const Params params = JsonCodec<Params>::decode(input);
            return detail::encoded_result([&] { return function(context, params); });
        };
    }
}

}  // namespace pawl
