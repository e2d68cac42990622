// What every command needs: the store's URL and the form of the output.
#pragma once

#include <chrono>
#include <pawl/store.h>
#include <stdexcept>
#include <string>
#include <string_view>

#include "cli/output/view.h"

namespace pawl::cli {

/// 3 and above are used only by commands that wait for a run.
enum class ExitCode : int {
    ok = 0,
    failure = 1,
    usage = 2,
    run_failed = 3,
    run_cancelled = 4,
    not_ended = 5,
    no_such_run = 6,
    no_store = 7
};
enum class Format { text, json };

inline constexpr const char* default_url = "sqlite:pawl.db";

/// An invalid command line; exit code 2.
class UsageError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Standard output cannot be written. `closed`: the reader has gone away, which is not reported.
class OutputError : public std::runtime_error {
public:
    enum class Cause { closed, failed };
    OutputError(Cause cause, const std::string& message)
        : std::runtime_error(message), cause_(cause) {}
    [[nodiscard]] Cause cause() const { return cause_; }

private:
    Cause cause_;
};

struct Context {
    std::string url = default_url;
    bool url_given = false;  ///< by --url, not by the environment
    Format format = Format::text;
    ViewOptions view_options = {};

    /// How text for people is laid out.
    [[nodiscard]] View view() const { return make_view(view_options); }
    [[nodiscard]] bool json() const { return format == Format::json; }
    /// Log lines go to standard error, as JSON objects if --json was given.
    [[nodiscard]] Store connect(ConnectOptions options = {}) const;

    /// Writes the result, with a line end, to standard output, and flushes it.
    void print(std::string_view result) const;
    /// Prints the form that was asked for: a JSON text, or a text for people.
    void answer(std::string_view as_json, std::string_view as_text) const;
    /// Prints a remark for people on standard error; nothing with --json.
    void remark(std::string_view text) const;
};

[[nodiscard]] bool is_terminal(int descriptor);

}  // namespace pawl::cli
