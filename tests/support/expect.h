// Expectations: the error of a call, and a condition that becomes true without a fixed sleep.
#pragma once

#include <chrono>
#include <functional>
#include <gtest/gtest.h>
#include <ostream>
#include <pawl/error.h>
#include <pawl/message.h>
#include <pawl/worker_info.h>
#include <string>
#include <thread>

namespace pawl::test {

using namespace std::chrono_literals;

}  // namespace pawl::test

namespace pawl {

// So that a failed comparison prints names instead of bytes.
inline void PrintTo(ErrorCode code, std::ostream* out) {
    *out << to_string(code);
}
inline void PrintTo(WorkerStatus status, std::ostream* out) {
    *out << to_string(status);
}
inline void PrintTo(WorkerEvent event, std::ostream* out) {
    *out << to_string(event);
}
inline void PrintTo(MessageState state, std::ostream* out) {
    *out << to_string(state);
}
inline void PrintTo(Outcome outcome, std::ostream* out) {
    *out << to_string(outcome);
}

}  // namespace pawl

namespace pawl::test {

// The error that a call throws; the test fails if it throws none.
template <class Call>
Error error_of(Call call) {
    try {
        call();
    } catch (const Error& error) {
        return error;
    } catch (const std::exception& error) {
        ADD_FAILURE() << "expected a pawl::Error, got: " << error.what();
        return {ErrorCode::database_error, error.what()};
    }
    ADD_FAILURE() << "expected a pawl::Error, got none";
    return {ErrorCode::database_error, "no error"};
}

inline ::testing::AssertionResult contains(const std::string& text, const std::string& part) {
    if (text.find(part) != std::string::npos) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "'" << part << "' is not in: " << text;
}

// Waits until the condition holds. The limit is generous: it only ends a broken test.
inline bool eventually(
    const std::function<bool()>& condition, std::chrono::seconds limit = std::chrono::seconds(30)
) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > deadline) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
}

// Whether the end of a lease, as `lease_end` reads it, is extended, and then once more.
template <class LeaseEnd>
bool is_extended_twice(LeaseEnd lease_end) {
    for (int i = 0; i < 2; ++i) {
        const auto before = lease_end();
        if (!eventually([&] { return lease_end() > before; })) return false;
    }
    return true;
}

}  // namespace pawl::test
