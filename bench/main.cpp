#include <cstdio>
#include <exception>
#include <string>
#include <string_view>

#include "queue_bench.h"

namespace {

int usage() {
    std::fputs(
        "usage: ./dev bench queue [--json FILE] [--quick] [--only postgres|sqlite] [--part "
        "drain|claim|idle]\n",
        stderr
    );
    return 2;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2 || std::string_view(argv[1]) != "queue") return usage();
    bench::Options options;
    std::string json_file;
    for (int i = 2; i < argc; ++i) {
        const std::string_view argument = argv[i];
        const std::string_view value = i + 1 < argc ? argv[i + 1] : "";
        if (argument == "--quick") {
            options.rounds = 3;
            options.scale = 10;
            continue;
        }
        if (value.empty()) return usage();
        ++i;
        if (argument == "--json") {
            json_file = value;
        } else if (argument == "--only") {
            options.postgres = value == "postgres";
            options.sqlite = value == "sqlite";
        } else if (argument == "--part") {
            options.drains = value == "drain";
            options.claims = value == "claim";
            options.idle = value == "idle";
        } else {
            return usage();
        }
    }
    try {
        bench::Report report;
        bench::queue_bench(options, report);
        if (!json_file.empty()) report.write_json(json_file);
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "bench: %s\n", error.what());
        return 1;
    }
}
