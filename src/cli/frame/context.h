// What every command needs: where the store is, and how to answer.
#pragma once

#include <pawl/store.h>
#include <stdexcept>
#include <string>
#include <string_view>

namespace pawl::cli {

/// 3 and above: only of commands that wait for a run.
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

/// The command line makes no sense; exit code 2.
class UsageError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Standard output cannot be written. Nobody reads any more: `closed`, and nothing needs to be
/// said.
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
    bool url_given = false;  ///< by --url; the environment does not count
    Format format = Format::text;

    [[nodiscard]] bool json() const { return format == Format::json; }
    /// Log lines go to standard error, as JSON objects when --json was given.
    [[nodiscard]] Store connect(ConnectOptions options = {}) const;

    /// The result, with a line end, on standard output; it has left the process when this returns.
    void print(std::string_view result) const;
    /// Prints the one that was asked for: a JSON text, or a sentence for people.
    void answer(std::string_view as_json, std::string_view as_text) const;
    /// A remark for people on standard error; nothing with --json.
    void remark(std::string_view text) const;
};

[[nodiscard]] bool is_terminal(int descriptor);

}  // namespace pawl::cli
