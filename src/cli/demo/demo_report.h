// The lines that the demo has seen, and the run as the store has it.
#pragma once

#include <pawl/store.h>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::cli {

/// One line that a worker process printed about a step.
struct DemoLine {
    std::string worker;
    std::string step;
    std::string what;  // demo::runs or demo::recorded
    friend bool operator==(const DemoLine&, const DemoLine&) = default;
};

struct DemoReport {
    RunInfo run;
    std::vector<StepInfo> steps;
    std::vector<DemoLine> lines;
    std::string killed;     // a worker's name
    std::string successor;  // the worker that took over
    Duration takeover{};    // from the kill until the successor's first line
    Duration elapsed{};     // from the trigger to the end

    /// Steps 1 and 2 once, by the first worker; step 3 by both; step 4 once, by the second.
    [[nodiscard]] bool as_promised() const;
    [[nodiscard]] std::string as_text(const Store& store) const;
    [[nodiscard]] std::string as_json() const;

private:
    [[nodiscard]] std::string timeline(const Store& store) const;
};

}  // namespace pawl::cli
