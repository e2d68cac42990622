#include "cli/frame/command.h"

#include <CLI/CLI.hpp>
#include <utility>

namespace pawl::cli {

namespace {

constexpr const char* common_options =
    "Every command takes --url, --json, --full, --utc, --local and --color: see pawl --help.";

}  // namespace

Command Command::add(const std::string& name, const std::string& description) const {
    // At most one on every level: otherwise a queue called "worker" would be parsed as a command.
    app_->require_subcommand(1);
    auto* below = app_->add_subcommand(name, description);
    below->footer(common_options);  // a subcommand inherits the examples of its group otherwise
    return {*below, *chosen_};
}

const Command& Command::add_value(const std::string& name, const ValueHelp& help, Setter set)
    const {
    const auto callback = [name, set = std::move(set)](const std::string& text) {
        try {
            set(text);
        } catch (const std::invalid_argument& error) {
            throw CLI::ValidationError(name, error.what());
        }
    };
    auto* option = app_->add_option_function<std::string>(name, callback, help.text);
    option->type_name(help.type)->required(help.need == Need::required);
    return *this;
}

const Command& Command::time_option(
    const std::string& name, std::optional<Timestamp>& target, Bare bare, const std::string& help
) const {
    const auto set = [&target, bare](const std::string& text) {
        const auto now = std::chrono::floor<Timestamp::duration>(std::chrono::system_clock::now());
        target = parse_time(text, bare, now);
    };
    return add_value(name, {type_name(target), help, Need::optional}, set);
}

const Command& Command::repeated_option(
    const std::string& name, std::vector<std::string>& target, const std::string& help
) const {
    // One value each: otherwise the option would take the positional arguments after it.
    app_->add_option_function<std::vector<std::string>>(
            name, [&target](const std::vector<std::string>& values) { target = values; }, help
    )
        ->type_name(type_name(std::string()))
        ->allow_extra_args(false);
    return *this;
}

const Command& Command::argument_behind_optional(
    const std::string& name, std::optional<std::string>& target, const std::string& help
) const {
    add_value(name, {type_name(target), help, Need::optional}, setter(target));
    app_->get_option(name)->option_text(name);  // without the brackets of an optional argument
    return *this;
}

const Command& Command::add_flag(
    const std::string& name, const std::string& help, std::function<void()> set
) const {
    app_->add_flag_callback(name, std::move(set), help);
    return *this;
}

const Command& Command::exclusive(std::initializer_list<const char*> names) const {
    for (const std::string one : names) {
        for (const std::string other : names) {
            if (one != other) app_->get_option(one)->excludes(app_->get_option(other));
        }
    }
    return *this;
}

const Command& Command::environment(const std::string& option, const std::string& variable) const {
    app_->get_option(option)->envname(variable);
    return *this;
}

const Command& Command::examples(const std::string& lines) const {
    app_->footer("Examples:\n" + lines + "\n\n" + common_options);
    return *this;
}

const Command& Command::hidden() const {
    app_->group("");
    return *this;
}

const Command& Command::run(Action action) const {
    app_->callback([chosen = chosen_, action = std::move(action)] { *chosen = action; });
    return *this;
}

}  // namespace pawl::cli
