// What the function of a workflow works with:
//
//   Receipt handle_order(pawl::Context& ctx, const Order& order) {
//       const int total = ctx.step("price", [&] { return look_up(order); });
//       ctx.step("charge", [&] { bank::charge(order.card, total); });
//       return {total};
//   }
//
// Each ctx.step() is recorded. When the run continues after a crash, a pause or a retry, the
// function is called again from its beginning, and recorded steps return their recorded results
// without running. The code between the steps must therefore reach the same steps in the same
// order: see docs/workflows.md.
#pragma once

#include <concepts>
#include <functional>
#include <optional>
#include <pawl/callable.h>
#include <pawl/codec.h>
#include <pawl/error.h>
#include <pawl/export.h>
#include <pawl/log.h>
#include <pawl/run.h>
#include <pawl/types.h>
#include <pawl/workflow.h>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace pawl::runtime {
class RunContext;
}

namespace pawl::inline v0 {

/// The options of one step.
struct StepOptions {
    std::optional<int> max_attempts = {};  ///< executions, the first included; default: the run's
    std::optional<Duration> backoff_base = {};  ///< default: the workflow's
    std::optional<Duration> backoff_cap = {};   ///< default: the workflow's
    /// When it has elapsed, stop_token() is requested and the attempt fails; a later return value
    /// is ignored. Above 0, up to 100 years; default: no limit.
    std::optional<Duration> timeout = {};
    std::optional<Json> input = {};  ///< stored with the step, for people to read
};

/// @cond
namespace detail {

/// Stands for the result of a body that does not compile, so that no further errors follow.
struct AnyValue {
    template <class T>
    operator T() const;  // NOLINT(google-explicit-constructor)
};

/// What the body of a step returns, as it is stored.
template <class F>
struct StepBody {
    static constexpr bool callable = std::invocable<F&>;
    static auto result() {
        if constexpr (callable) {
            return std::type_identity<Stored<std::invoke_result_t<F&>>>{};
        } else {
            return std::type_identity<AnyValue>{};
        }
    }
    using Result = typename decltype(result())::type;
    static constexpr bool writes() {
        if constexpr (!callable || std::is_void_v<Result>) {
            return callable;
        } else {
            return writes_json<Result>;
        }
    }
    static constexpr bool reads() {
        if constexpr (!callable || std::is_void_v<Result>) {
            return callable;
        } else {
            return reads_json<Result>;
        }
    }
};

}  // namespace detail
/// @endcond

/// A step that is driven by hand, for code that does not fit into a lambda:
///   auto guard = ctx.acquire("upload");
///   if (!guard.skipped()) guard.success(upload(file));
///   use(guard.output<Address>());
/// Nothing is retried between acquire() and success(): an exception there counts as thrown outside
/// of steps. A guard refers to the Context: do not keep it after the function returns. Its calls
/// have the same rules for threads as the Context.
class PAWL_EXPORT StepGuard {
public:
    /// True if the step has its result already.
    [[nodiscard]] bool skipped() const { return recorded_.has_value(); }
    /// The recorded result as a T. Throws context_misuse if it has not been recorded yet, and
    /// serialization_error, which names the run and the step, if it is not a T.
    template <class T = Json>
    [[nodiscard]] T output() const {
        if constexpr (!detail::reads_json<T>) {
            (void)sizeof(detail::ReadError<T>);
            return detail::never<T>();
        } else {
            const Json& recorded = output_json();
            try {
                return JsonCodec<T>::decode(recorded);
            } catch (const std::exception&) {
                undecodable();
            }
        }
    }
    /// Records the result. Returns after the commit.
    void success(const Json& output = {});
    /// The same with a typed value. Needs <pawl/json.h>.
    template <class T>
    void success(const T& value) {
        success(Json(detail::encode(value)));
    }
    /// Records the step as failed, and throws the StepError that every replay will throw.
    [[noreturn]] void failure(std::string_view message);

private:
    [[nodiscard]] const Json& output_json() const;
    [[noreturn]] void undecodable() const;  // while the exception of the codec is handled
    friend struct detail::Access;
    friend class Context;
    StepGuard(runtime::RunContext& context, std::string id, std::optional<Json> recorded)
        : context_(context), id_(std::move(id)), recorded_(std::move(recorded)) {}
    runtime::RunContext& context_;
    std::string id_;
    std::optional<Json> recorded_;
};

/// The run that a workflow's function executes. It belongs to the thread that runs the function,
/// and is valid until the function returns. Other threads may call stop_token(), cancelled() and
/// the plain getters; other calls throw context_misuse there, and inside the body of a step.
///
/// When the run is suspended (for a retry, a pause, a sleep or a call), or can no longer be
/// recorded, a call throws a type that is not a std::exception through the function. Do not swallow
/// it: see pawl/error.h. Calls that record something block until the commit, and keep trying while
/// the database is away, as long as the worker holds its lease.
class PAWL_EXPORT Context {
public:
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    /// Runs `body` unless its result is recorded, records the result, and returns it after the
    /// commit. The body takes no arguments, and returns void or anything that has a JSON form: see
    /// pawl/json.h. The returned value is decoded from the stored one, also the first time, so that
    /// a replay returns the same. A string literal is returned as a std::string.
    ///
    /// If the body throws, it is executed again after the backoff, without blocking the worker,
    /// until its attempts are used. Then, or after a PermanentError, the step has failed, and this
    /// call and every replay throw the same StepError. A crash before the commit executes the body
    /// again.
    ///
    /// `id` has 1 to 255 bytes without '#'; a second use of an id in a run becomes "id#2". Throws
    /// serialization_error, which names the run and the step, if a replay does not find a result of
    /// this type: the code has changed.
    template <class F>
    auto step(std::string_view id, F&& body) {
        return step(id, StepOptions{}, std::forward<F>(body));
    }
    /// The same with options for this step.
    template <class F>
    auto step(std::string_view id, const StepOptions& options, F&& body) {
        using Checked = detail::StepBody<F>;
        using Result = typename Checked::Result;
        static_assert(
            Checked::callable,
            "pawl: the body of a step is a function without arguments, ctx.step(\"name\", [&] "
            "{...}), which captures what it needs"
        );
        if constexpr (!Checked::callable) {
            return detail::never<Result>();
        } else if constexpr (!Checked::writes()) {
            (void)sizeof(detail::WriteError<Result>);
            return detail::never<Result>();
        } else if constexpr (!Checked::reads()) {
            (void)sizeof(detail::ReadError<Result>);
            return detail::never<Result>();
        } else {
            auto run = [&body]() -> Json {
                return detail::encoded_result([&]() -> decltype(auto) {
                    return std::invoke(body);
                });
            };
            return decoded<Result>(step_json(id, options, Body(run)), [&] { rejected(id, {}); });
        }
    }
    /// Does not compile: the id comes first.
    template <std::invocable F>  // swapped arguments
    void step(F&&, std::string_view) {
        static_assert(
            !std::invocable<F>, "pawl: the name of a step comes first: ctx.step(\"name\", body)"
        );
    }
    /// A step that is driven by hand: see StepGuard.
    [[nodiscard]] StepGuard acquire(std::string_view id);

    /// Pauses the run until a caller resumes the step (Run::resume), and returns the data that it
    /// gives. T void ignores the data. If the data does not decode into T, the run pauses again,
    /// with the reason as the step's message. A paused run holds no thread. `message` is shown to
    /// people. The function is replayed every `check_after` (default: the store's
    /// pause_check_interval; above 0, up to 100 years), so that it can take another path.
    template <class T = Json>
    T pause(
        std::string_view step,
        std::string_view message,
        std::optional<Duration> check_after = std::nullopt
    ) {
        return decoded<T>(pause_json(step, message, check_after), [&] {
            rejected(step, {std::string(message), check_after});
        });
    }
    /// Triggers a run of another workflow or flow, once, waits for its end without holding a
    /// thread, and returns its output. Recorded as the step `id`. If that run fails or is
    /// cancelled, this call and every replay throw the same StepError. Cancelling this run cancels
    /// that one. The trigger must not have an idempotency key.
    template <class T = Json>
    T call(std::string_view id, const Trigger& trigger) {
        return decoded<T>(call_json(id, trigger.run()), [&] { undecodable(id); });
    }
    /// The same for a typed workflow.
    template <class R>
    requires(!std::same_as<R, Json>) R call(std::string_view id, const TriggerOf<R>& trigger) {
        return decoded<R>(call_json(id, trigger.run()), [&] { undecodable(id); });
    }

    /// Puts an event into the outbox (pawl/outbox.h). It is recorded like a step, so a replay does
    /// not publish it again. Its aggregate is the run unless one is given.
    void publish(std::string_view type, const Json& payload, std::string_view aggregate = {});
    /// The same for a typed value, through <pawl/json.h>.
    template <class T>
    void publish(std::string_view type, const T& payload, std::string_view aggregate = {}) {
        publish(type, Json(detail::encode(payload)), aggregate);
    }

    /// @{
    /// Durable timers by the database's clock: the run is PAUSED and holds no thread. The end is
    /// fixed when the sleep is recorded. Up to 100 years, or to the year 9999. A time in the past
    /// does not sleep.
    void sleep(Duration time);
    void sleep_until(Timestamp time);
    /// @}

    /// True if the run was cancelled or its lease is lost: nothing more of it will be recorded.
    [[nodiscard]] bool cancelled() const;
    /// Requested when the run is cancelled, its lease is lost, the time limit of its step or of the
    /// run has passed, or the worker stops. Long-running bodies should check it.
    [[nodiscard]] std::stop_token stop_token() const;
    /// Extends the lease now, and unwinds the function if the lease is lost. The worker does this
    /// by itself every ConnectOptions::heartbeat.
    void heartbeat();

    /// The run that is executed.
    [[nodiscard]] RunId run_id() const;
    [[nodiscard]] const std::string& workflow() const;  ///< its name
    [[nodiscard]] int delivery() const;  ///< how often the run was delivered to a worker
    /// The attempt of the executing step, or of the run outside of steps; starts at 1.
    [[nodiscard]] int attempt() const;
    [[nodiscard]] bool is_replaying() const;  ///< true while the next step is a recorded one
    /// Writes to the store's log hook, with the run's id.
    void log(LogLevel level, std::string_view message) const;

    // The calls above without templates.

    /// @cond
    /// A body as the engine sees it: a function that returns JSON. It refers to the user's
    /// function.
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
    Json step_json(std::string_view id, const StepOptions& options, Body body);
    Json pause_json(
        std::string_view step, std::string_view message, std::optional<Duration> check_after
    );
    Json call_json(std::string_view id, const NewRun& run);
    /// @endcond

private:
    struct Question {
        std::string message = {};
        std::optional<Duration> check_after = {};
    };
    template <class T, class Refuse>
    static T decoded(Json json, Refuse refuse) {
        if constexpr (std::is_void_v<T>) {
            return;
        } else if constexpr (!detail::reads_json<T>) {
            (void)sizeof(detail::ReadError<T>);
            return detail::never<T>();
        } else {
            try {
                return JsonCodec<T>::decode(std::move(json));
            } catch (...) {
                refuse();
                throw;
            }
        }
    }
    // Both are called while the exception of the codec is handled, and throw. An answer that no
    // execution has used before is rejected: the run pauses at the step again.
    [[noreturn]] void rejected(std::string_view step, const Question& question);
    [[noreturn]] void undecodable(std::string_view step);

    friend struct detail::Access;
    explicit Context(runtime::RunContext& implementation) : context_(implementation) {}
    runtime::RunContext& context_;
};

/// The function of a workflow as the engine sees it: JSON in, JSON out.
using WorkflowHandler = std::function<Json(Context&, const Json&)>;

namespace detail {

struct DecodeRunInput {
    template <class Params>
    Params operator()(const Context& context, const Json& input) const {
        return decode<Params>(input, [&] {
            return "the input of run " + std::to_string(context.run_id().value()) +
                   " of workflow '" + context.workflow() + "'";
        });
    }
};

}  // namespace detail

/// Wraps a function that takes (Context&), (Context&, P) or (Context&, const P&) and returns void
/// or anything that has a JSON form. With P = pawl::Json the function gets the text as it is. P is
/// deduced, or named if that is impossible: make_workflow_handler<P>([](auto& ctx, auto p) { ...
/// }). Functions with other arguments do not compile. An input that is not a P fails the run with
/// serialization_error.
template <class P = detail::Deduced, class F>
WorkflowHandler make_workflow_handler(F function) {
    return detail::make_handler<Context, P>(std::move(function), detail::DecodeRunInput{});
}

}  // namespace pawl::inline v0
