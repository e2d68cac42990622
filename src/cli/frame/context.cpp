#include "cli/frame/context.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <unistd.h>
#include <utility>

#include "cli/output/render.h"

namespace pawl::cli {

namespace {

void log_as_json(LogLevel level, std::string_view message) {
    const auto line =
        json_object({{"log", std::string(to_string(level))}, {"message", std::string(message)}});
    fmt::print(stderr, "{}\n", line);
}

// Commands show warnings and errors only.
void log_as_text(LogLevel level, std::string_view message) {
    if (level >= LogLevel::warning) fmt::print(stderr, "pawl {}: {}\n", to_string(level), message);
}

[[noreturn]] void fail_output() {
    const int error = errno;
    throw OutputError(
        error == EPIPE ? OutputError::Cause::closed : OutputError::Cause::failed,
        fmt::format("cannot write to standard output: {}", std::strerror(error))
    );
}

}  // namespace

Store Context::connect(ConnectOptions options) const {
    if (options.log) options.log = json() ? log_as_json : log_as_text;
    return pawl::connect(url, std::move(options));
}

void Context::print(std::string_view result) const {
    std::string line(result);
    if (!line.ends_with('\n')) line += '\n';
    if (std::fwrite(line.data(), 1, line.size(), stdout) != line.size()) fail_output();
    if (std::fflush(stdout) != 0) fail_output();
}

void Context::answer(std::string_view as_json, std::string_view as_text) const {
    print(json() ? as_json : as_text);
}

void Context::remark(std::string_view text) const {
    if (!json()) fmt::print(stderr, "{}\n", text);
}

bool is_terminal(int descriptor) {
    return isatty(descriptor) == 1;
}

}  // namespace pawl::cli
