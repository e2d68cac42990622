// Functions as handlers: how pawl finds out what a handler takes. Everything here is internal.
//
// A handler is a function, a lambda, a std::function, the result of std::bind_front, or any other
// object with one operator(). It may be noexcept or mutable. It may be move-only: copies of what
// holds it, such as a WorkerBuilder, then share it. If the types of its arguments are unknown,
// because it is a generic lambda or has several operator(), the caller names them:
// handle<Params>(...), on_message<T>(...), on<Input>(...).
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <pawl/codec.h>
#include <tuple>
#include <type_traits>
#include <utility>

namespace pawl::inline v0::detail {

/// The caller did not name the type.
struct Deduced;

/// The arguments of a function type or a member function type.
template <class F>
struct Arguments {
    static constexpr bool known = false;
};
template <class... A>
struct KnownArguments {
    static constexpr bool known = true;
    static constexpr std::size_t count = sizeof...(A);
    using Types = std::tuple<A...>;
    template <std::size_t I>
    using At = std::tuple_element_t<I, Types>;
};
template <class R, class... A>
struct Arguments<R (*)(A...)> : KnownArguments<A...> {};
template <class R, class... A>
struct Arguments<R (*)(A...) noexcept> : KnownArguments<A...> {};

/// The arguments of a member function, without its object.
template <class F>
struct MemberArguments;
template <class R, class C, class... A>
struct MemberArguments<R (C::*)(A...)> : KnownArguments<A...> {
    using Object = C;
};
template <class R, class C, class... A>
struct MemberArguments<R (C::*)(A...) const> : MemberArguments<R (C::*)(A...)> {};
template <class R, class C, class... A>
struct MemberArguments<R (C::*)(A...)&> : MemberArguments<R (C::*)(A...)> {};
template <class R, class C, class... A>
struct MemberArguments<R (C::*)(A...) const&> : MemberArguments<R (C::*)(A...)> {};
template <class R, class C, class... A>
struct MemberArguments<R (C::*)(A...) noexcept> : MemberArguments<R (C::*)(A...)> {};
template <class R, class C, class... A>
struct MemberArguments<R (C::*)(A...) const noexcept> : MemberArguments<R (C::*)(A...)> {};
template <class R, class C, class... A>
struct MemberArguments<R (C::*)(A...)& noexcept> : MemberArguments<R (C::*)(A...)> {};
template <class R, class C, class... A>
struct MemberArguments<R (C::*)(A...) const& noexcept> : MemberArguments<R (C::*)(A...)> {};

/// An object with one operator(), which is not a template.
template <class F>
requires requires {
    &F::operator();
}
struct Arguments<F> : MemberArguments<decltype(&F::operator())> {};

template <std::size_t Count, class Types>
struct WithoutFirst;
template <class... A>
struct WithoutFirst<0, std::tuple<A...>> : KnownArguments<A...> {};
template <std::size_t Count, class First, class... A>
requires(Count > 0) struct WithoutFirst<Count, std::tuple<First, A...>>
    : WithoutFirst<Count - 1, std::tuple<A...>> {
};

/// What std::bind_front(function, bound...) takes.
template <class F, std::size_t Bound>
struct BoundArguments {
    static constexpr bool known = false;
};
template <class F, std::size_t Bound>
requires(Arguments<F>::known) struct BoundArguments<F, Bound>
    : WithoutFirst<Bound, typename Arguments<F>::Types> {
};
template <class F, std::size_t Bound>
requires(std::is_member_function_pointer_v<F>&& Bound > 0)  // the first one is the object
    struct BoundArguments<F, Bound> : WithoutFirst<Bound - 1, typename MemberArguments<F>::Types> {
};

template <template <class...> class Binder, class F, class... Bound>
requires std::same_as < Binder<F, Bound...>,
decltype(std::bind_front(std::declval<F>(), std::declval<Bound>()...)) >
    struct Arguments<Binder<F, Bound...>> : BoundArguments<F, sizeof...(Bound)> {};

/// Calls a function with an argument that it takes by value, by reference or by rvalue reference.
template <class Value, class F, class... Before>
inline constexpr bool takes =
    std::invocable<F&, Before..., Value> || std::invocable<F&, Before..., Value&>;
template <class Value, class F, class... Before>
decltype(auto) call_with(Value& value, F& function, Before&... before) {
    if constexpr (std::invocable<F&, Before&..., Value>) {
        return std::invoke(function, before..., std::move(value));
    } else {
        return std::invoke(function, before..., value);
    }
}

/// A callable that std::function can hold: a move-only one is shared by all copies.
template <class F>
struct SharedCallable {
    std::shared_ptr<F> function;
    template <class... A>
    requires std::invocable<F&, A...>
    decltype(auto) operator()(A&&... arguments) const {
        return std::invoke(*function, std::forward<A>(arguments)...);
    }
};
template <class F>
auto copyable(F function) {
    if constexpr (std::copy_constructible<F>) {
        return function;
    } else {
        return SharedCallable<F>{std::make_shared<F>(std::move(function))};
    }
}

/// The result of a handler or a body as JSON; void is null.
template <class Call>
Json encoded_result(Call call) {
    if constexpr (std::is_void_v<std::invoke_result_t<Call&>>) {
        call();
        return Json{};
    } else {
        return encode(call());
    }
}

/// The type of the parameters of a workflow's or a task's function, found in its arguments.
template <class Named, class F>
struct HandlerParams {
    using type = Named;
};
template <class F>
requires(Arguments<F>::known) struct HandlerParams<Deduced, F> {
    template <class A, std::size_t Count>
    struct Second {
        using type = Deduced;
    };
    template <class A>
    struct Second<A, 2> {
        using type = std::remove_cvref_t<typename A::template At<1>>;
    };
    using type = typename Second<Arguments<F>, Arguments<F>::count>::type;
};

/// Whether F is a handler that takes (Context&) or (Context&, Params).
template <class Context, class Named, class F>
struct HandlerCheck {
    using Params = typename HandlerParams<Named, F>::type;

    static constexpr bool has_params = !std::same_as<Params, Deduced>;
    static constexpr bool is_member = std::is_member_function_pointer_v<F>;

    static constexpr bool takes_params() {
        if constexpr (has_params && !is_member) {
            return takes<Params, F, Context&>;
        } else {
            return false;
        }
    }
    static constexpr bool takes_context() {
        if constexpr (takes_params() || is_member) {
            return false;
        } else {
            return std::invocable<F&, Context&>;
        }
    }
    static constexpr bool fits = takes_params() || takes_context();
    static constexpr bool unknown =
        !fits && !is_member && !Arguments<F>::known && std::same_as<Named, Deduced>;

    static auto result() {
        if constexpr (takes_params()) {
            return std::type_identity<decltype(call_with(
                std::declval<Params&>(), std::declval<F&>(), std::declval<Context&>()
            ))>{};
        } else if constexpr (takes_context()) {
            return std::type_identity<std::invoke_result_t<F&, Context&>>{};
        } else {
            return std::type_identity<void>{};
        }
    }
    using Result = Stored<typename decltype(result())::type>;
    static constexpr bool writes_result() {
        if constexpr (std::is_void_v<Result>) {
            return true;
        } else {
            return writes_json<Result>;
        }
    }
    static constexpr bool reads_params() {
        if constexpr (takes_params()) {
            return reads_json<Params>;
        } else {
            return true;
        }
    }
};

/// Wraps a handler: JSON in, JSON out. `decoder` turns the input into the parameters.
template <class Context, class Named, class F, class Decoder>
std::function<Json(Context&, const Json&)> make_handler(F handler, Decoder decoder) {
    using Check = HandlerCheck<Context, Named, F>;
    static_assert(
        !Check::is_member,
        "pawl: a member function needs its object: pass a lambda that captures it, "
        "[&service](auto& ctx, const Params& params) { return service.work(ctx, params); }"
    );
    static_assert(
        !Check::unknown,
        "pawl: the parameters of this handler are unknown: name their type, handle<Params>(name, "
        "handler), on<Input>(step, handler), or use pawl::Workflow<Params, Result>"
    );
    static_assert(
        Check::fits || Check::unknown || Check::is_member,
        "pawl: wrong arguments: the function of a workflow takes (pawl::Context&, const Params&) "
        "or (pawl::Context&), that of a flow's step (pawl::TaskContext&, const Input&) or "
        "(pawl::TaskContext&)"
    );
    if constexpr (!Check::fits) {
        return {};
    } else if constexpr (!Check::reads_params()) {
        (void)sizeof(ReadError<typename Check::Params>);
        return {};
    } else if constexpr (!Check::writes_result()) {
        (void)sizeof(WriteError<typename Check::Result>);
        return {};
    } else if constexpr (Check::takes_params()) {
        using Params = typename Check::Params;
        return [function = copyable(std::move(handler)),
                decoder](Context& context, const Json& input) mutable {
            Params params = decoder.template operator()<Params>(context, input);
            return encoded_result([&]() -> decltype(auto) {
                return call_with(params, function, context);
            });
        };
    } else {
        return [function = copyable(std::move(handler))](Context& context, const Json&) mutable {
            return encoded_result([&]() -> decltype(auto) {
                return std::invoke(function, context);
            });
        };
    }
}

/// Whether F can be the function of a Workflow<P, R>.
template <class Context, class P, class R, class F>
struct FitsWorkflow {
    static constexpr bool takes_params() {
        if constexpr (std::is_member_function_pointer_v<F>) {
            return false;
        } else if constexpr (std::is_void_v<P>) {
            return std::invocable<F&, Context&>;
        } else {
            return takes<P, F, Context&>;
        }
    }
    static constexpr bool returns_result() {
        if constexpr (!takes_params()) {
            return false;
        } else if constexpr (std::is_void_v<R>) {
            return true;
        } else if constexpr (std::is_void_v<P>) {
            return std::is_invocable_r_v<R, F&, Context&>;
        } else {
            return std::is_invocable_r_v<R, F&, Context&, P> ||
                   std::is_invocable_r_v<R, F&, Context&, P&>;
        }
    }
};

/// The function with the exact types of the workflow.
template <class Context, class P, class R, class F>
auto typed_function(F handler) {
    if constexpr (std::is_void_v<P>) {
        return [function = copyable(std::move(handler))](Context& context) mutable -> R {
            return static_cast<R>(std::invoke(function, context));
        };
    } else {
        return [function = copyable(std::move(handler))](Context& context, P params) mutable -> R {
            return static_cast<R>(call_with(params, function, context));
        };
    }
}

}  // namespace pawl::inline v0::detail
