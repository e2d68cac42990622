// Handlers of queues: what they get, and how WorkerBuilder::on_message() and on_batch() call them.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <pawl/callable.h>
#include <pawl/codec.h>
#include <pawl/error.h>
#include <pawl/export.h>
#include <pawl/message.h>
#include <span>
#include <stop_token>
#include <string_view>
#include <type_traits>
#include <utility>

namespace pawl::runtime {
class MessageCall;
}

namespace pawl::inline v0 {

/// The messages that a handler of a queue works on: their ids, deliveries and payloads, and whether
/// the handler should stop. The worker extends their leases while the handler runs. Valid until the
/// handler returns. May be used from several threads. No call does I/O.
class PAWL_EXPORT HandlerContext {
public:
    HandlerContext(const HandlerContext&) = delete;
    HandlerContext& operator=(const HandlerContext&) = delete;
    /// All messages of this call: one, or up to the batch size of on_batch().
    [[nodiscard]] std::span<const Message> messages() const;
    /// The first message, which is the only one unless the handler takes batches: its id, queue,
    /// delivery (the fencing token), attempts and payload.
    [[nodiscard]] const Message& message() const { return messages().front(); }
    /// Requested when all leases are lost or the worker's stop deadline has passed. Results are
    /// rejected from then on, so long-running handlers should check it.
    [[nodiscard]] std::stop_token stop_token() const;
    /// True if the message was delivered to another holder in the meantime.
    [[nodiscard]] bool lease_lost(const Message& message) const;
    /// Gives one message back when the handler returns, ready after `delay`, while the others are
    /// archived. It uses no attempt. Throws invalid_argument for a delay above 100 years.
    void release(const Message& message, Duration delay = {});
    /// Fails one message when the handler returns: it is delivered again after the backoff.
    void fail(const Message& message, std::string_view error);

private:
    friend struct detail::Access;
    explicit HandlerContext(runtime::MessageCall& call) : call_(call) {}
    runtime::MessageCall& call_;
};

/// The handler of a queue as the worker sees it.
using Handler = std::function<void(HandlerContext&)>;

namespace detail {

/// The type of the payload that a queue's handler takes: its last argument.
template <class Named, class F>
struct PayloadOf {
    using type = Named;
};
template <class F>
requires(Arguments<F>::known) struct PayloadOf<Deduced, F> {
    template <class A, std::size_t Count>
    struct Last {
        using type = Deduced;
    };
    template <class A>
    struct Last<A, 1> {
        using type = std::remove_cvref_t<typename A::template At<0>>;
    };
    template <class A>
    struct Last<A, 2> {
        using type = std::remove_cvref_t<typename A::template At<1>>;
    };
    using type = typename Last<Arguments<F>, Arguments<F>::count>::type;
};

/// What a handler of on_message() is called with.
enum class MessageArguments {
    impossible,
    message,
    context,
    context_and_message,
    value,
    context_and_value
};

template <class Named, class F>
struct MessageHandlerCheck {
    using T = typename PayloadOf<Named, F>::type;
    static constexpr bool named = !std::same_as<Named, Deduced>;

    static constexpr MessageArguments arguments() {
        if constexpr (arguments_without_value() != MessageArguments::impossible) {
            return arguments_without_value();
        } else {
            return arguments_with_value();
        }
    }
    // A generic lambda must not be instantiated with types that the caller did not name.
    static constexpr MessageArguments arguments_without_value() {
        if constexpr (!named) {
            if constexpr (std::invocable<F&, const Message&>) return MessageArguments::message;
            if constexpr (std::invocable<F&, HandlerContext&>) return MessageArguments::context;
            if constexpr (is_with_message()) return MessageArguments::context_and_message;
        }
        return MessageArguments::impossible;
    }
    static constexpr bool is_with_message() {
        if constexpr (std::same_as<T, Message>) {
            return std::invocable<F&, HandlerContext&, const Message&>;
        } else {
            return false;
        }
    }
    static constexpr MessageArguments arguments_with_value() {
        if constexpr (std::same_as<T, Deduced>) {
            return MessageArguments::impossible;
        } else if constexpr (takes<T, F, HandlerContext&>) {
            return MessageArguments::context_and_value;
        } else {
            return takes<T, F> ? MessageArguments::value : MessageArguments::impossible;
        }
    }
    static constexpr bool fits = arguments() != MessageArguments::impossible;
    static constexpr bool is_member = !fits && std::is_member_function_pointer_v<F>;
    static constexpr bool unknown = !fits && !is_member && !Arguments<F>::known && !named;
    static constexpr bool reads_payload() {
        if constexpr (arguments() == MessageArguments::value || arguments() == MessageArguments::context_and_value) {
            return reads_json<T>;
        } else {
            return true;
        }
    }
};

/// A payload that does not decode will not decode at the next delivery either.
template <class T>
T decoded_payload(const Message& message) {
    try {
        return message.as<T>();
    } catch (const Error& error) {
        throw PermanentError(error.what());
    }
}

template <class Named, class F>
Handler make_message_handler(F handler) {
    using Check = MessageHandlerCheck<Named, F>;
    using T = typename Check::T;
    static_assert(
        !Check::is_member,
        "pawl: a member function needs its object: pass a lambda that captures it, "
        "[&service](const T& payload) { service.work(payload); }"
    );
    static_assert(
        !Check::unknown,
        "pawl: the payload of this handler is unknown: name its type, on_message<T>(queue, handler)"
    );
    static_assert(
        Check::fits || Check::unknown || Check::is_member,
        "pawl: wrong arguments: the handler of a queue takes (const T&), (pawl::HandlerContext&, "
        "const T&), (const pawl::Message&) or (pawl::HandlerContext&)"
    );
    if constexpr (!Check::fits) {
        return {};
    } else if constexpr (!Check::reads_payload()) {
        (void)sizeof(ReadError<T>);
        return {};
    } else {
        return [function = copyable(std::move(handler))](HandlerContext& context) mutable {
            constexpr MessageArguments arguments = Check::arguments();
            if constexpr (arguments == MessageArguments::message) {
                (void)std::invoke(function, context.message());
            } else if constexpr (arguments == MessageArguments::context) {
                (void)std::invoke(function, context);
            } else if constexpr (arguments == MessageArguments::context_and_message) {
                (void)std::invoke(function, context, context.message());
            } else if constexpr (arguments == MessageArguments::context_and_value) {
                T value = decoded_payload<T>(context.message());
                (void)call_with(value, function, context);
            } else {
                T value = decoded_payload<T>(context.message());
                (void)call_with(value, function);
            }
        };
    }
}

template <class F>
Handler make_batch_handler(F handler) {
    constexpr bool takes_context = std::invocable<F&, HandlerContext&>;
    constexpr bool takes_messages = std::invocable<F&, std::span<const Message>>;
    static_assert(
        takes_context || takes_messages,
        "pawl: wrong arguments: a handler of batches takes (std::span<const pawl::Message>) or "
        "(pawl::HandlerContext&)"
    );
    if constexpr (takes_context) {
        return [function = copyable(std::move(handler))](HandlerContext& context) mutable {
            (void)std::invoke(function, context);
        };
    } else if constexpr (takes_messages) {
        return [function = copyable(std::move(handler))](HandlerContext& context) mutable {
            (void)std::invoke(function, context.messages());
        };
    } else {
        return {};
    }
}

}  // namespace detail

}  // namespace pawl::inline v0
