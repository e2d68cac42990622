// One command of the tree. A thin layer over CLI11, so that only command.cpp, completion.cpp
// and main.cpp have to compile it.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "cli/frame/context.h"
#include "cli/frame/value_parsers.h"

namespace CLI {  // NOLINT(readability-identifier-naming): not our name
class App;
}

namespace pawl::cli {

/// Runs after the whole command line has been parsed.
using Action = std::function<ExitCode(const Context&)>;

class Command {
public:
    /// `chosen` receives the action of the command that the user gave.
    Command(CLI::App& app, Action& chosen) : app_(&app), chosen_(&chosen) {}

    /// Adds a subcommand. A command with subcommands requires one of them.
    [[nodiscard]] Command add(const std::string& name, const std::string& description) const;

    // Targets must live as long as the action: let the action capture them.
    template <class T>
    const Command& argument(const std::string& name, T& target, const std::string& help) const {
        return add_value(name, {type_name(target), help, Need::required}, setter(target));
    }
    template <class T>
    const Command& optional_argument(const std::string& name, T& target, const std::string& help)
        const {
        return add_value(name, {type_name(target), help, Need::optional}, setter(target));
    }
    template <class T>
    const Command& option(const std::string& name, T& target, const std::string& help) const {
        return add_value(name, {type_name(target), help, Need::optional}, setter(target));
    }
    template <class T>
    const Command& required_option(const std::string& name, T& target, const std::string& help)
        const {
        return add_value(name, {type_name(target), help, Need::required}, setter(target));
    }
    /// A time, absolute or relative to now.
    const Command& time_option(
        const std::string& name,
        std::optional<Timestamp>& target,
        Bare bare,
        const std::string& help
    ) const;
    /// May be given several times; the targets are in the order given.
    const Command& repeated_option(
        const std::string& name, std::vector<std::string>& target, const std::string& help
    ) const;
    /// A required argument after an optional one. A single word is stored in the optional one: the
    /// command must tell them apart, and refuse a command line that has neither.
    const Command& argument_behind_optional(
        const std::string& name, std::optional<std::string>& target, const std::string& help
    ) const;
    /// Sets `target` to `value` when it is given.
    template <class T, class Value>
    const Command& flag(
        const std::string& name, T& target, const Value& value, const std::string& help
    ) const {
        return add_flag(name, help, [&target, value] { target = value; });
    }

    /// At most one of these options.
    const Command& exclusive(std::initializer_list<const char*> names) const;
    const Command& environment(const std::string& option, const std::string& variable) const;
    const Command& examples(const std::string& lines) const;
    const Command& hidden() const;  ///< neither in help nor in completions
    const Command& run(Action action) const;

    [[nodiscard]] const CLI::App& app() const { return *app_; }

private:
    enum class Need { optional, required };
    struct ValueHelp {
        std::string type;
        std::string text;
        Need need;
    };
    using Setter = std::function<void(const std::string&)>;

    template <class T>
    static Setter setter(T& target) {
        return [&target](const std::string& text) { parse_value(text, target); };
    }
    const Command& add_value(const std::string& name, const ValueHelp& help, Setter set) const;
    const Command& add_flag(
        const std::string& name, const std::string& help, std::function<void()> set
    ) const;

    CLI::App* app_;
    Action* chosen_;
};

}  // namespace pawl::cli
