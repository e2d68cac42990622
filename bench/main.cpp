#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flow_bench.h"
#include "outbox_bench.h"
#include "queue_bench.h"
#include "reports_bench.h"
#include "retention_bench.h"
#include "workflow_bench.h"
#include "workflow_latency.h"

namespace {

int usage() {
    std::fputs(
        "usage: ./dev bench queue|workflow|flow|retention|outbox|reports [--json FILE] [--quick] "
        "[--only "
        "postgres|sqlite] "
        "[--part PART] [--runs N (reports)]\n"
        "parts: queue drain|claim|idle, workflow drain|end_to_end|latency|resume|metrics, "
        "flow drain|steps|map|finished\n",
        stderr
    );
    return 2;
}

struct Arguments {
    std::string bench;
    std::string json_file;
    std::string only;
    std::string part;
    std::string runs;
    bool quick = false;

    [[nodiscard]] bool backend(std::string_view name) const { return only.empty() || only == name; }
    [[nodiscard]] bool has_part(std::string_view name) const {
        return part.empty() || part == name;
    }
};

std::optional<Arguments> parse(const std::vector<std::string>& words) {
    if (words.empty()) return std::nullopt;
    Arguments arguments;
    arguments.bench = words[0];
    for (std::size_t i = 1; i < words.size(); ++i) {
        if (words[i] == "--quick") {
            arguments.quick = true;
            continue;
        }
        if (i + 1 == words.size()) return std::nullopt;
        std::string* option = words[i] == "--json"   ? &arguments.json_file
                              : words[i] == "--only" ? &arguments.only
                              : words[i] == "--part" ? &arguments.part
                              : words[i] == "--runs" ? &arguments.runs
                                                     : nullptr;
        if (option == nullptr) return std::nullopt;
        *option = words[++i];
    }
    if (!arguments.backend("postgres") && !arguments.backend("sqlite")) return std::nullopt;
    return arguments;
}

bool queue(const Arguments& arguments, bench::Report& report) {
    bench::Options options;
    if (arguments.quick) {
        options.rounds = 3;
        options.scale = 10;
    }
    options.postgres = arguments.backend("postgres");
    options.sqlite = arguments.backend("sqlite");
    options.drains = arguments.has_part("drain");
    options.claims = arguments.has_part("claim");
    options.idle = arguments.has_part("idle");
    if (!options.drains && !options.claims && !options.idle) return false;
    bench::queue_bench(options, report);
    return true;
}

bool workflow(const Arguments& arguments, bench::Report& report) {
    bench::WorkflowOptions options;
    if (arguments.quick) {
        options.rounds = 3;
        options.runs = 5'000;
        options.latency_runs = 50;
    }
    options.postgres = arguments.backend("postgres");
    options.sqlite = arguments.backend("sqlite");
    options.drain = arguments.has_part("drain");
    options.end_to_end = arguments.has_part("end_to_end");
    options.latency = arguments.has_part("latency");
    options.resume = arguments.has_part("resume");
    options.metrics = arguments.has_part("metrics");
    if (!options.drain && !options.end_to_end && !options.latency && !options.resume &&
        !options.metrics)
        return false;
    bench::workflow_bench(options, report);
    return true;
}

bool flow(const Arguments& arguments, bench::Report& report) {
    bench::FlowBenchOptions options;
    if (arguments.quick) {
        options.rounds = 3;
        options.runs = 1'000;
        options.finished_runs = 100'000;
        options.other_flows = 100;
    }
    options.postgres = arguments.backend("postgres");
    options.sqlite = arguments.backend("sqlite");
    options.drain = arguments.has_part("drain");
    options.finished = arguments.has_part("finished");
    options.steps = arguments.has_part("steps");
    options.map = arguments.has_part("map");
    if (!options.drain && !options.finished && !options.steps && !options.map) return false;
    bench::flow_bench(options, report);
    return true;
}

bool retention(const Arguments& arguments, bench::Report& report) {
    bench::RetentionOptions options;
    if (arguments.quick) {
        options.rounds = 3;
        options.runs = 10'000;
        options.old_runs = 100'000;
        options.pruned_alone = 10'000;
    }
    options.postgres = arguments.backend("postgres");
    options.sqlite = arguments.backend("sqlite");
    if (!arguments.part.empty()) return false;
    bench::retention_bench(options, report);
    return true;
}

bool outbox(const Arguments& arguments, bench::Report& report) {
    bench::OutboxBenchOptions options;
    if (arguments.quick) {
        options.rounds = 3;
        options.events = 5'000;
        options.published = 50'000;
    }
    options.postgres = arguments.backend("postgres");
    options.sqlite = arguments.backend("sqlite");
    if (!arguments.part.empty()) return false;
    bench::outbox_bench(options, report);
    return true;
}

bool reports(const Arguments& arguments, bench::Report& report) {
    bench::ReportsOptions options;
    if (arguments.quick) options.runs = 100'000;
    if (!arguments.runs.empty()) options.runs = std::stoi(arguments.runs);
    options.postgres = arguments.backend("postgres");
    options.sqlite = arguments.backend("sqlite");
    if (!arguments.part.empty()) return false;
    bench::reports_bench(options, report);
    return true;
}

// False if the benchmark or the part does not exist.
bool run(const Arguments& arguments, bench::Report& report) {
    if (arguments.bench == "queue") return queue(arguments, report);
    if (arguments.bench == "workflow") return workflow(arguments, report);
    if (arguments.bench == "retention") return retention(arguments, report);
    if (arguments.bench == "outbox") return outbox(arguments, report);
    if (arguments.bench == "reports") return reports(arguments, report);
    return arguments.bench == "flow" && flow(arguments, report);
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> words(argv + 1, argv + argc);
    try {
        if (words.size() == 4 && words[0] == bench::latency_child_word)
            bench::latency_child(
                words[1] == "sqlite" ? bench::sqlite_workflow_site : bench::postgres_workflow_site,
                words[2],
                words[3]
            );
        const auto arguments = parse(words);
        if (!arguments) return usage();
        bench::Report report;
        if (!run(*arguments, report)) return usage();
        if (!arguments->json_file.empty()) report.write_json(arguments->json_file);
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "bench: %s\n", error.what());
        return 1;
    }
}
