// Another copy of this program, owned: it is dead and reaped when the object goes.
#pragma once

#include <optional>
#include <pawl/types.h>
#include <string>
#include <sys/types.h>
#include <vector>

namespace pawl::cli {

class ChildProcess {
public:
    /// Starts this same program with these words; its standard output comes to us. Throws
    /// std::system_error.
    explicit ChildProcess(const std::vector<std::string>& words);
    ~ChildProcess();
    ChildProcess(const ChildProcess&) = delete;
    ChildProcess& operator=(const ChildProcess&) = delete;

    [[nodiscard]] pid_t pid() const { return pid_; }
    [[nodiscard]] bool alive();
    /// The next line it prints, without its end; nothing when the time is over or a signal came.
    /// Throws std::runtime_error when no more will come.
    [[nodiscard]] std::optional<std::string> read_line(Duration timeout);
    void kill();  ///< SIGKILL: it gets no chance to tidy up
    /// SIGTERM, so that it finishes what it has in hand; SIGKILL when that takes too long.
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
