// The common part of `trigger` and `flow start`.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/frame/command.h"

namespace pawl::cli {

enum class Startable { any, flow };

struct TriggerArguments {
    Startable kind = Startable::any;
    std::string workflow;
    std::optional<std::string> input;
    TriggerOptions options;
    std::optional<Duration> wait;
};

/// Adds the input and all options; the caller has added the name of the workflow.
void add_trigger_options(
    const Command& command, const std::shared_ptr<TriggerArguments>& arguments
);
/// Triggers a run, and waits for its end if --wait was given.
[[nodiscard]] ExitCode trigger(const Context& context, const TriggerArguments& arguments);

}  // namespace pawl::cli
