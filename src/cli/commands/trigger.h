// What `trigger` and `flow start` have in common.
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

/// The input and all options; the workflow's name stands before them.
void add_trigger_options(
    const Command& command, const std::shared_ptr<TriggerArguments>& arguments
);
/// Triggers, and waits where that was asked for.
[[nodiscard]] ExitCode trigger(const Context& context, const TriggerArguments& arguments);

}  // namespace pawl::cli
