// Another copy of this program, owned: it is dead and reaped when the object goes.
#pragma once

#include <pawl/types.h>
#include <string>
#include <sys/types.h>
#include <vector>

namespace pawl::cli {

class ChildProcess {
public:
    /// Starts this same program with these words. Throws std::system_error.
    explicit ChildProcess(const std::vector<std::string>& words);
    ~ChildProcess();
    ChildProcess(ChildProcess&& other) noexcept;
    ChildProcess(const ChildProcess&) = delete;
    ChildProcess& operator=(const ChildProcess&) = delete;
    ChildProcess& operator=(ChildProcess&&) = delete;

    [[nodiscard]] pid_t pid() const { return pid_; }
    [[nodiscard]] bool alive();
    /// Returns when it really stands still. Does nothing to one that has ended.
    void freeze();
    void thaw();
    void kill();  ///< SIGKILL: it gets no chance to tidy up
    /// SIGTERM, so that it finishes what it has in hand; SIGKILL when that takes too long.
    void stop(Duration deadline);

private:
    enum class Wait { poll, block };
    void reap(Wait wait);

    pid_t pid_ = 0;
    bool running_ = false;
};

}  // namespace pawl::cli
