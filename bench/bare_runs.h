// Runs without an engine: the same rows in the same tables, in the fewest statements. What the
// workflow benchmarks are measured against.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace bench {

inline const std::string workflow_name = "bench";
inline constexpr std::array<std::string_view, 3> step_names{"one", "two", "three"};
inline constexpr std::string_view small_json = R"({"n":1})";

// Which of two processes that wake each other this is: worker hears of triggers, waiter of ends.
enum class Side { worker, waiter };

// One connection. The store says when it is durable, as pawl's own connections do.
class BareRuns {
public:
    virtual ~BareRuns() = default;

    // Runs and their messages, in one commit. Returns the last one's id.
    virtual std::int64_t trigger(int count) = 0;
    // Takes up to `count` runs to their end: the claim, a commit for each step of all of them, the
    // completion. Returns how many there were.
    virtual int work(int count, int steps) = 0;
    // The same for runs whose lease has ended behind their second step, which it reads.
    virtual int resume(int count) = 0;

    // From now on the other side is told of what is written here.
    virtual void listen(Side side) = 0;
    // Returns when the other side has written something, or the time is over.
    virtual void wait(std::chrono::milliseconds timeout) = 0;
    [[nodiscard]] virtual bool succeeded(std::int64_t run) = 0;
};

}  // namespace bench
