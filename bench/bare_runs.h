// Runs without an engine: the same rows in the same tables, in the fewest statements. The baseline
// of the workflow benchmarks.
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

// One of two processes that wake each other: the worker is notified of triggers, the waiter of
// ends.
enum class Side { worker, waiter };

// One connection. Durability is the store's, as for pawl's connections.
class BareRuns {
public:
    virtual ~BareRuns() = default;

    // Creates runs and their messages in one commit. Returns the id of the last run.
    virtual std::int64_t trigger(int count) = 0;
    // Executes up to `count` runs: the claim, a commit for each step of all of them, the
    // completion. Returns the number of runs.
    virtual int work(int count, int steps) = 0;
    // The same for runs whose lease expired after their second step, which it reads.
    virtual int resume(int count) = 0;

    // From now on writes on the other side notify this one.
    virtual void listen(Side side) = 0;
    // Returns when the other side has written something, or after the timeout.
    virtual void wait(std::chrono::milliseconds timeout) = 0;
    [[nodiscard]] virtual bool succeeded(std::int64_t run) = 0;
};

}  // namespace bench
