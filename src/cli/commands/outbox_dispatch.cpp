// pawl outbox dispatch: a dispatcher of its own, until a signal or once.
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
    if (colon == std::string::npos) throw UsageError("--header is written 'Name: value'");
    const auto value = text.find_first_not_of(' ', colon + 1);
    http.headers[text.substr(0, colon)] = value == std::string::npos ? "" : text.substr(value);
}

Sink make_sink(const DispatchArguments& arguments) {
    if (!is_url(arguments.to)) return file_sink(arguments.to, arguments.http.source);
    HttpSinkOptions http = arguments.http;
    for (const std::string& header : arguments.headers) add_header(header, http);
    return http_sink(arguments.to, http);
}

// Held back in all threads, so that they are waited for here.
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
            fmt::format("{} events delivered", delivered)
        );
        return ExitCode::ok;
    }
    (void)store.now();  // a store that is not there fails at once, and not in the background
    dispatcher.start();
    context.remark("dispatching; Ctrl-C ends it");
    signals.wait();
    dispatcher.stop();
    return ExitCode::ok;
}

}  // namespace

void add_dispatch_command(const Command& group) {
    const auto arguments = std::make_shared<DispatchArguments>();
    auto& http = arguments->http;
    auto& options = arguments->options;
    group.add("dispatch", "Deliver events until it is stopped, or with --once what is due")
        .required_option("--to", arguments->to, "http(s)://... or a file of JSON lines")
        .flag("--once", arguments->until, Until::nothing_is_due, "End when nothing is due")
        .flag("--binary", http.mode, HttpSinkOptions::Mode::binary, "CloudEvents' binary mode")
        .option("--source", http.source, "Of CloudEvents (default pawl)")
        .repeated_option("--header", arguments->headers, "'Name: value', for each request")
        .option("--timeout", http.timeout, "Of a request (default 10s)")
        .option("--ca-file", http.ca_file, "Certificates to trust (default: the system's)")
        .flag("--insecure", http.verify_tls, false, "Trust any certificate")
        .option("--max-attempts", options.max_attempts, "Then an event is parked (default 10)")
        .option("--concurrency", options.concurrency, "Aggregates at a time (default 4)")
        .examples(
            "  pawl outbox dispatch --to https://example.org/events\n"
            "  pawl outbox dispatch --to events.jsonl --once"
        )
        .run([arguments](const Context& context) { return dispatch(context, *arguments); });
}

}  // namespace pawl::cli
