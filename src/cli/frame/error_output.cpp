#include "cli/frame/error_output.h"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>

#include "cli/frame/passwords.h"
#include "cli/frame/similar_name.h"
#include "cli/output/render.h"

namespace pawl::cli {

namespace {

// ID stands for the run, NAME for the queue, workflow, flow or schedule that the message names.
const char* hint_for(ErrorCode code) {  // NOLINT(readability-function-size): a table
    switch (code) {
        case ErrorCode::not_installed:
            return "run: pawl install   (with the same --url)";
        case ErrorCode::schema_too_old:
            return "run: pawl install   (it upgrades the schema)";
        case ErrorCode::schema_too_new:
            return "upgrade pawl: a newer version wrote this database";
        case ErrorCode::queue_not_found:
            return "run: pawl queue create NAME   (pawl queue list shows the queues that exist)";
        case ErrorCode::queue_not_empty:
            return "empty it first, or run: pawl queue delete NAME --force";
        case ErrorCode::message_not_found:
            return "run: pawl message list NAME, or: pawl archive list NAME";
        case ErrorCode::worker_not_found:
            return "run: pawl worker list --all";
        case ErrorCode::invalid_transition:
            return "pawl worker list --all shows the status of each worker";
        case ErrorCode::workflow_not_found:
            return "run: pawl workflow create NAME   (pawl workflow list shows those that exist)";
        case ErrorCode::workflow_has_runs:
            return "run: pawl run list --workflow NAME   (cancel these runs, or let them end)";
        case ErrorCode::workflow_queue:
            return "use: pawl trigger NAME JSON";
        case ErrorCode::flow_not_found:
            return "run: pawl flow create NAME   (pawl flow list shows those that exist)";
        case ErrorCode::flow_mismatch:
            return "pawl flow shape NAME shows the stored flow; a new name is a new version";
        case ErrorCode::run_not_found:
            return "run: pawl run list   (with --deleted it includes deleted runs)";
        case ErrorCode::run_finished:
            return "to execute it again: pawl run retry ID, or: pawl run fork ID STEP";
        case ErrorCode::run_not_failed:
            return "to execute a part of it again: pawl run fork ID STEP";
        case ErrorCode::step_not_found:
        case ErrorCode::step_finished:
            return "pawl run steps ID shows the steps and their status";
        case ErrorCode::step_not_waiting:
            return "pawl run steps ID shows the steps; --early keeps the data for a later pause";
        case ErrorCode::execution_failed:
            return "pawl run show ID shows more; to execute it again: pawl run retry ID";
        case ErrorCode::wait_timeout:
        case ErrorCode::wait_stopped:
            return "wait again with: pawl run wait ID";
        case ErrorCode::invalid_url:
        case ErrorCode::backend_missing:
            return "use --url sqlite:FILE or --url postgresql://USER@HOST/DATABASE";
        case ErrorCode::connection_failed:
            return "check --url (or PAWL_URL) and that the database can be reached";
        case ErrorCode::pooler_detected:
            return "add pooler=transaction to the URL's parameters";
        case ErrorCode::schedule_not_found:
            return "run: pawl schedule list";
        case ErrorCode::outbox_event_not_found:
            return "run: pawl outbox list";
        case ErrorCode::invalid_payload:
            return "a payload is JSON: '{\"to\":\"ada\"}', 42, or '\"text\"' with its own quotes";
        case ErrorCode::busy:
            return "another process is writing; try again";
        case ErrorCode::test_clock:
            return "a test has replaced this store's clock; use another store";
        case ErrorCode::listen_failed:
            return "choose another port, or 0 for any free port";
        case ErrorCode::invalid_argument:
        case ErrorCode::run_deleted:
        case ErrorCode::run_cancelled:
        case ErrorCode::step_failed:
        case ErrorCode::duplicate_workflow:
        case ErrorCode::context_misuse:
        case ErrorCode::invalid_schema_name:
        case ErrorCode::timeout:
        case ErrorCode::payload_too_large:
        case ErrorCode::wrong_transaction:
        case ErrorCode::serialization_error:
        case ErrorCode::unsupported:
        case ErrorCode::database_error:
            return "";
    }
    return "";
}

ExitCode exit_code_for(ErrorCode code) {
    if (code == ErrorCode::execution_failed) return ExitCode::run_failed;
    if (code == ErrorCode::run_cancelled) return ExitCode::run_cancelled;
    if (code == ErrorCode::wait_timeout || code == ErrorCode::wait_stopped)
        return ExitCode::not_ended;
    if (code == ErrorCode::run_not_found || code == ErrorCode::run_deleted)
        return ExitCode::no_such_run;
    if (code == ErrorCode::connection_failed || code == ErrorCode::timeout ||
        code == ErrorCode::not_installed)
        return ExitCode::no_store;
    return ExitCode::failure;
}

// Replaces a placeholder of the hint by the run or the name that the error is about.
void fill_in(std::string& hint, std::string_view placeholder, std::string_view value) {
    if (value.empty()) return;
    for (auto at = hint.find(placeholder); at != std::string::npos;
         at = hint.find(placeholder, at + value.size()))
        hint.replace(at, placeholder.size(), value);
}

std::string_view run_in(std::string_view message) {
    const auto at = message.find("run ");
    if (at == std::string_view::npos) return {};
    const auto number = message.substr(at + 4);
    return number.substr(0, std::min(number.find_first_not_of("0123456789"), number.size()));
}

// The object that the hint of a code is about. A message may name others first: "step 'a' of flow
// 'web' exists and differs".
std::string_view noun_of(ErrorCode code) {
    if (code == ErrorCode::queue_not_found || code == ErrorCode::queue_not_empty ||
        code == ErrorCode::message_not_found || code == ErrorCode::workflow_queue)
        return "queue '";
    if (code == ErrorCode::workflow_not_found) return "workflow '";
    if (code == ErrorCode::flow_not_found || code == ErrorCode::flow_mismatch) return "flow '";
    if (code == ErrorCode::schedule_not_found) return "schedule '";
    return "'";
}

std::string_view name_in(std::string_view message, ErrorCode code) {
    const auto noun = noun_of(code);
    const auto named = message.find(noun);
    const auto begin =
        named == std::string_view::npos ? message.find('\'') : named + noun.size() - 1;
    const auto end = message.find('\'', begin + 1);
    if (begin == std::string_view::npos || end == std::string_view::npos) return {};
    const auto name = message.substr(begin + 1, end - begin - 1);
    const bool plain = name.find_first_of(" \t\n\"$`") == std::string_view::npos;
    return plain ? name : std::string_view();
}

bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

// Hints that depend on more than the code.
const char* hint_for(const Context& context, const Error& error) {
    const std::string_view message = error.what();
    if (error.code() == ErrorCode::run_finished && contains(message, "ended as SUCCESS"))
        return hint_for(ErrorCode::run_not_failed);
    if (error.code() == ErrorCode::invalid_url && contains(message, "parameter '"))
        return "";  // the message says what to write
    if (error.code() == ErrorCode::connection_failed && context.url.starts_with("sqlite:"))
        return "check the path in --url (or PAWL_URL): a file in a directory that exists and is "
               "writable";
    return hint_for(error.code());
}

std::vector<std::string>& command_words() {
    static std::vector<std::string> words;
    return words;
}

}  // namespace

void hide_passwords_of(std::vector<std::string> words) {
    command_words() = std::move(words);
}

Failure describe(const Context& context, const Error& error) {
    Failure failure{std::string(to_string(error.code())), error.what(), hint_for(context, error)};
    const std::string name(name_in(failure.message, error.code()));
    fill_in(failure.hint, "ID", run_in(failure.message));
    fill_in(failure.hint, "NAME", name);
    if (const auto* hinted = dynamic_cast<const HintedError*>(&error)) {
        failure.hint = hinted->hint();
    } else if (error.in_doubt()) {
        failure.hint = "the outcome is unknown: check whether it was done before you repeat it";
    } else if (failure.message.find("did you mean") == std::string::npos) {
        const auto similar = similar_name(context, error.code(), name);
        if (!similar.empty()) failure.hint = similar;
    }
    return failure;
}

ExitCode waiting(const Context& context, const std::function<ExitCode()>& wait) {
    try {
        return wait();
    } catch (const Error& error) {
        report(context.format, describe(context, error));
        return exit_code_for(error.code());
    }
}

void report(Format format, const Failure& seen) {
    Failure failure = seen;
    failure.message = without_passwords(failure.message, command_words());
    failure.hint = without_passwords(failure.hint, command_words());
    if (format == Format::json) {
        auto object = json_object({{"error", failure.code}, {"message", failure.message}});
        if (!failure.hint.empty())
            object = json_object(
                {{"error", failure.code}, {"message", failure.message}, {"hint", failure.hint}}
            );
        fmt::print(stderr, "{}\n", object);
        return;
    }
    fmt::print(stderr, "pawl: {}\n", failure.message);
    if (!failure.hint.empty()) fmt::print(stderr, "  {}\n", failure.hint);
}

}  // namespace pawl::cli
