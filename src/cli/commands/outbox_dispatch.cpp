// pawl outbox dispatch: delivers events until a signal arrives, or once.
#include "cli/commands/outbox_dispatch.h"

#include <csignal>
#include <fmt/format.h>
#include <memory>
#include <pawl/outbox.h>

#include "cli/output/render.h"

namespace pawl::cli {

namespace {

enum class Until { signal, nothing_is_due };

struct DispatchArguments {
    std::string to;
    Until until = Until::signal;
    HttpSinkOptions http;
    std::vector<std::string> headers;
    DispatcherOptions options;
};

bool is_url(const std::string& to) {
    return to.find("://") != std::string::npos;
}

// "Name: value"
void add_header(const std::string& text, HttpSinkOptions& http) {
    const auto colon = text.find(':');
    if (colon == std::string::npos) throw UsageError("--header has the form 'Name: value'");
    const auto value = text.find_first_not_of(' ', colon + 1);
    http.headers[text.substr(0, colon)] = value == std::string::npos ? "" : text.substr(value);
}

Sink make_sink(const DispatchArguments& arguments) {
    if (!is_url(arguments.to)) return file_sink(arguments.to, arguments.http.source);
    HttpSinkOptions http = arguments.http;
    for (const std::string& header : arguments.headers) add_header(header, http);
    return http_sink(arguments.to, http);
}

// Blocked in all threads, so that this thread can wait for them.
class Signals {
public:
    Signals() {
        sigemptyset(&set_);
        sigaddset(&set_, SIGINT);
        sigaddset(&set_, SIGTERM);
        pthread_sigmask(SIG_BLOCK, &set_, nullptr);
    }
    void wait() const {
        int number = 0;
        sigwait(&set_, &number);
    }

private:
    sigset_t set_{};
};

ExitCode dispatch(const Context& context, const DispatchArguments& arguments) {
    const Sink sink = make_sink(arguments);
    const Signals signals;
    const Store store = context.connect();
    auto dispatcher = pawl::dispatcher(store, sink, arguments.options);
    if (arguments.until == Until::nothing_is_due) {
        const int delivered = dispatcher.dispatch_once();
        context.answer(
            json_object({{"delivered", std::int64_t{delivered}}}),
            fmt::format("{} delivered", counted(delivered, "event"))
        );
        return ExitCode::ok;
    }
    (void)store.now();  // a store that cannot be reached fails here, not in the background
    dispatcher.start();
    context.remark("delivering events; stop with Ctrl-C");
    signals.wait();
    dispatcher.stop();
    return ExitCode::ok;
}

}  // namespace

void add_dispatch_command(const Command& group) {
    const auto arguments = std::make_shared<DispatchArguments>();
    auto& http = arguments->http;
    auto& options = arguments->options;
    group
        .add(
            "dispatch",
            "Deliver events until SIGTERM or Ctrl-C; with --once, only those that are due"
        )
        .required_option(
            "--to", arguments->to, "The destination: http(s)://... or a file of JSON Lines"
        )
        .flag("--once", arguments->until, Until::nothing_is_due, "End when no event is due")
        .flag(
            "--binary",
            http.mode,
            HttpSinkOptions::Mode::binary,
            "Use the binary mode of CloudEvents"
        )
        .option("--source", http.source, "The source of the CloudEvents (default pawl)")
        .repeated_option(
            "--header",
            arguments->headers,
            "A header for each request, 'Name: value'; may be repeated"
        )
        .option("--timeout", http.timeout, "The limit of one request (default 10s)")
        .option(
            "--ca-file", http.ca_file, "Trust these certificates (default: those of the system)"
        )
        .flag("--insecure", http.verify_tls, false, "Trust every certificate")
        .option(
            "--max-attempts",
            options.max_attempts,
            "Park an event after this many attempts (default 10)"
        )
        .option(
            "--concurrency",
            options.concurrency,
            "Deliver this many aggregates concurrently (default 4)"
        )
        .examples(
            "  pawl outbox dispatch --to https://example.org/events\n"
            "  pawl outbox dispatch --to events.jsonl --once"
        )
        .run([arguments](const Context& context) { return dispatch(context, *arguments); });
}

}  // namespace pawl::cli
