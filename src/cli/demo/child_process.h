// Another process of this program. The destructor kills and reaps it.
#pragma once

#include <optional>
#include <pawl/types.h>
#include <string>
#include <sys/types.h>
#include <vector>

namespace pawl::cli {

class ChildProcess {
public:
    /// Starts this program with these arguments, and reads its standard output. Throws
    /// std::system_error.
    explicit ChildProcess(const std::vector<std::string>& words);
    ~ChildProcess();
    ChildProcess(const ChildProcess&) = delete;
    ChildProcess& operator=(const ChildProcess&) = delete;

    [[nodiscard]] pid_t pid() const { return pid_; }
    [[nodiscard]] bool alive();
    /// The next line of its output, without the line end; nothing after the timeout or a signal.
    /// Throws std::runtime_error at the end of the output.
    [[nodiscard]] std::optional<std::string> read_line(Duration timeout);
    void kill();  ///< SIGKILL
    /// SIGTERM, so that it finishes its work; SIGKILL after the timeout.
    void stop(Duration deadline);

private:
    enum class Wait { poll, block };
    void reap(Wait wait);
    [[nodiscard]] std::optional<std::string> buffered_line();

    pid_t pid_ = 0;
    bool running_ = false;
    int output_ = -1;  // the read end of a pipe
    std::string buffer_;
};

}  // namespace pawl::cli
