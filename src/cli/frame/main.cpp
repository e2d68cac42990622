// pawl: the command line. Parses it, runs the chosen action, and turns exceptions into exit codes.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <exception>
#include <memory>
#include <optional>
#include <pawl/version.h>
#include <span>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "base/similar.h"
#include "cli/frame/commands.h"
#include "cli/frame/error_output.h"
#include "cli/frame/help.h"
#include "cli/frame/passwords.h"

namespace pawl::cli {

namespace {

constexpr const char* footer = R"(Examples:
  pawl demo                                     shows a crash and a recovery; needs no server
  pawl install                                  creates the store (default sqlite:pawl.db)
  pawl queue create mail
  pawl enqueue mail '{"to":"ada"}' --priority 5
  pawl dequeue mail --archive --json
  pawl workflow create zip_files
  pawl trigger zip_files '{"folder":"photos"}' --wait 30s
  pawl flow create web_analysis                 steps with dependencies
  pawl run list --status ERROR
  pawl schedule create nightly zip_files '30 2 * * *' --time-zone Europe/London
  pawl --url postgresql://me@db/app stats

Durations are written 500ms, 10s, 5m, 2h or 1d. Times are RFC 3339 (2026-01-31T12:00:00Z), now, or
a distance from now: --since 1h means an hour ago, --at 1h means in an hour.

Exit codes: 0 done, 1 failed, 2 invalid command line. Commands that wait for a run: 3 the run
failed, 4 it was cancelled, 5 it has not ended, 6 there is no such run, 7 there is no store.)";

void build(CLI::App& app, const Command& root, Context& context) {
    app.name("pawl");
    app.set_version_flag("--version", "pawl " PAWL_VERSION);
    app.set_help_flag("-h,--help", "Print this help and exit");
    app.formatter(std::make_shared<HelpFormatter>());
    app.fallthrough();  // global options may follow the command
    auto& view = context.view_options;
    root.option("--url", context.url, "The store (default sqlite:pawl.db)")
        .environment("--url", "PAWL_URL")
        .flag("--json", context.format, Format::json, "Print JSON; times are in UTC")
        .flag("--full", view.full, true, "Show every column and whole values, however long")
        .flag("--utc", view.times, TimeStyle::utc, "Show times in UTC, also where lists show ages")
        .flag("--local", view.times, TimeStyle::local, "Show times in the local time zone")
        .option("--color", view.color, "Use colors (default auto: on a terminal)")
        .exclusive({"--utc", "--local"});
    add_install_commands(root);
    add_doctor_command(root);
    add_queue_commands(root);
    add_enqueue_command(root);
    add_dequeue_command(root);
    add_settle_commands(root);
    add_message_commands(root);
    add_archive_commands(root);
    add_workflow_commands(root);
    add_flow_commands(root);
    add_trigger_command(root);
    add_run_commands(root);
    add_schedule_commands(root);
    add_outbox_commands(root);
    add_retention_commands(root);
    add_worker_commands(root);
    add_tenants_command(root);
    add_stats_command(root);
    add_demo_command(root);
    add_demo_worker_command(root);
    add_completion_command(root);
    app.footer(footer);  // at the end: commands inherit what their parent has when they are added
}

std::string named_command(const CLI::App& app) {
    const auto below = app.get_subcommands();
    return app.get_name() + (below.empty() ? "" : " " + named_command(*below.front()));
}

const CLI::App& named_app(const CLI::App& app) {
    const auto below = app.get_subcommands();
    return below.empty() ? app : named_app(*below.front());
}

// The commands, or the options, that may be used in its place.
std::vector<std::string> known_words(const CLI::App& app, std::string_view stranger) {
    std::vector<std::string> words;
    const CLI::App& named = named_app(app);
    if (stranger.starts_with("-")) {
        for (const CLI::App* from : {&named, &app}) {
            for (const CLI::Option* option : from->get_options()) {
                for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
            }
        }
        return words;
    }
    for (const CLI::App* command :
         named.get_subcommands([](const CLI::App* other) { return !other->get_group().empty(); }))
        words.push_back(command->get_name());
    return words;
}

// A group without one of its commands: CLI11 does not say which commands it has.
std::optional<std::string> missing_command(const CLI::App& app, const CLI::ParseError& error) {
    const auto commands = known_words(app, "");
    if (error.get_name() != "RequiredError" || commands.empty()) return std::nullopt;
    std::string message = named_command(app) + " needs a command: ";
    for (const std::string& command : commands)
        message += command + (command == commands.back() ? "" : ", ");
    return message;
}

// "--max: 1 required N missing" and "--delay excludes --at" are CLI11's.
std::string in_plain_words(const CLI::ParseError& error) {
    const std::string text = error.what();
    const auto split = [&](const std::string& separator) {
        const auto at = text.find(separator);
        const bool found = at != std::string::npos;
        return std::pair(text.substr(0, at), found ? text.substr(at + separator.size()) : "");
    };
    if (error.get_name() == "ArgumentMismatch") return split(":").first + " needs a value";
    if (error.get_name() == "ExcludesError") {
        const auto [one, other] = split(" excludes ");
        if (!other.empty()) return "give only one of " + one + " and " + other;
    }
    return text;
}

// Names unexpected words in the order in which they were given; CLI11 reverses it.
std::string usage_message(const CLI::App& app, const CLI::ParseError& error) {
    const auto strangers = app.remaining(true);
    if (strangers.empty()) return missing_command(app, error).value_or(in_plain_words(error));
    const bool command_missing = error.get_name() == "RequiredError";
    const bool extras = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError);
    if (!command_missing && !extras) return in_plain_words(error);
    const auto guess = base::most_similar(strangers.front(), known_words(app, strangers.front()));
    const std::string mean = guess ? "; did you mean " + *guess + "?" : "";
    if (command_missing || strangers.front().starts_with("-"))
        return "unknown command or option: " + strangers.front() + mean;
    std::string message = strangers.size() == 1 ? "unexpected argument:" : "unexpected arguments:";
    for (const std::string& stranger : strangers) message += " " + stranger;
    return message;
}

// When parsing fails, --json may not have been reached yet.
Format format_of(std::span<char* const> words) {
    const auto end = std::find(words.begin(), words.end(), std::string_view("--"));
    const auto found = std::find(words.begin(), end, std::string_view("--json"));
    return found == end ? Format::text : Format::json;
}

bool names_url(std::span<char* const> words) {
    return std::any_of(words.begin(), words.end(), [](std::string_view word) {
        return word == "--url" || word.starts_with("--url=");
    });
}

ExitCode explain(const CLI::App& app, const CLI::ParseError& error, Format format) {
    if (error.get_exit_code() == 0) {  // --help, --version
        std::ostringstream text;
        (void)app.exit(error, text, text);
        Context{}.print(text.str());
        return ExitCode::ok;
    }
    report(format, {"usage", usage_message(app, error), "run: " + named_command(app) + " --help"});
    return ExitCode::usage;
}

ExitCode parse_and_run(std::span<char* const> words, Context& context) {
    context.url_given = names_url(words);
    Action action;
    CLI::App app{"Durable workflows and message queues on SQLite or PostgreSQL."};
    build(app, Command(app, action), context);
    try {
        app.parse(static_cast<int>(words.size()), words.data());
    } catch (const CLI::ParseError& error) {
        return explain(app, error, format_of(words));
    }
    try {
        return action(context);
    } catch (const UsageError& error) {
        report(context.format, {"usage", error.what(), "run: " + named_command(app) + " --help"});
        return ExitCode::usage;
    }
}

ExitCode guarded(std::span<char* const> words) {
    hide_passwords_of({words.begin(), words.end()});
    Context context;
    try {
        return parse_and_run(words, context);
    } catch (const Error& error) {
        report(format_of(words), describe(context, error));
    } catch (const OutputError& error) {
        if (error.cause() == OutputError::Cause::failed)
            report(format_of(words), {"output_failed", error.what(), ""});
    } catch (const std::exception& error) {
        report(format_of(words), {"internal", error.what(), ""});
    }
    return ExitCode::failure;
}

}  // namespace

}  // namespace pawl::cli

int main(int argc, char** argv) {
    std::signal(SIGPIPE, SIG_IGN);  // a reader that has gone away is an error of the write
    const std::span<char* const> words(argv, static_cast<std::size_t>(argc));
    return static_cast<int>(pawl::cli::guarded(words));
}
