// Like std::optional, with the value on the heap: cheap to move if T is large and usually absent.
#pragma once

#include <memory>
#include <utility>

namespace pawl::base {

template <class T>
class HeapOptional {
public:
    HeapOptional() = default;
    // NOLINTNEXTLINE(google-explicit-constructor): implicit, like std::optional
    HeapOptional(T value) : value_(std::make_unique<T>(std::move(value))) {}
    HeapOptional(const HeapOptional& other)
        : value_(other.value_ ? std::make_unique<T>(*other.value_) : nullptr) {}
    HeapOptional(HeapOptional&&) noexcept = default;
    HeapOptional& operator=(const HeapOptional& other) { return *this = HeapOptional(other); }
    HeapOptional& operator=(HeapOptional&&) noexcept = default;
    ~HeapOptional() = default;

    T& emplace() { return *(value_ = std::make_unique<T>()); }
    void reset() { value_.reset(); }

    [[nodiscard]] bool has_value() const { return value_ != nullptr; }
    explicit operator bool() const { return has_value(); }
    T& operator*() { return *value_; }
    const T& operator*() const { return *value_; }
    T* operator->() { return value_.get(); }
    const T* operator->() const { return value_.get(); }

private:
    std::unique_ptr<T> value_;
};

}  // namespace pawl::base
