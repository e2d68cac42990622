// A non-owning reference to a callable, valid for the duration of a call. Does not allocate.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace pawl::base {

template <class Signature>
class FunctionRef;

template <class Result, class... Arguments>
class FunctionRef<Result(Arguments...)> {
public:
    // Implicit, so that callers can pass a lambda. It hides no copy constructor, but clang-tidy 14
    // does not read the requires clause.
    template <class Callable>
    requires(!std::is_same_v<std::remove_cvref_t<Callable>, FunctionRef>)
        // NOLINTNEXTLINE(google-explicit-constructor, bugprone-forwarding-reference-overload)
        FunctionRef(Callable&& callable)
        : object_(const_cast<void*>(static_cast<const void*>(std::addressof(callable)))),
          call_([](void* object, Arguments... arguments) -> Result {
              return (*static_cast<std::remove_reference_t<Callable>*>(object)
              )(std::forward<Arguments>(arguments)...);
          }) {}

    Result operator()(Arguments... arguments) const {
        return call_(object_, std::forward<Arguments>(arguments)...);
    }

private:
    void* object_;
    Result (*call_)(void*, Arguments...);
};

}  // namespace pawl::base
