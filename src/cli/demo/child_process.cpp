#include "cli/demo/child_process.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>

#include "cli/frame/literals.h"

namespace pawl::cli {

namespace {

constexpr const char* this_program = "/proc/self/exe";

// Runs in the child, which is a copy of one thread of a threaded process: only plain system calls.
[[noreturn]] void become(char* const* words, pid_t parent, int output) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // ends with its parent
    if (getppid() == parent && dup2(output, STDOUT_FILENO) >= 0) execv(this_program, words);
    _exit(127);
}

[[noreturn]] void fail(const char* what) {
    throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& words) {
    std::vector<std::string> copies(words);
    std::vector<char*> pointers;
    pointers.reserve(copies.size() + 1);
    for (auto& word : copies) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    std::array<int, 2> pipe{};
    if (pipe2(pipe.data(), O_CLOEXEC) != 0) fail("cannot make a pipe");
    output_ = pipe[0];
    const pid_t parent = getpid();
    pid_ = fork();
    if (pid_ == 0) become(pointers.data(), parent, pipe[1]);
    const int error = errno;
    close(pipe[1]);
    if (pid_ > 0) {
        running_ = true;
        return;
    }
    close(output_);
    errno = error;
    fail("cannot start a process");
}

ChildProcess::~ChildProcess() {
    kill();
    close(output_);
}

bool ChildProcess::alive() {
    if (running_) reap(Wait::poll);
    return running_;
}

std::optional<std::string> ChildProcess::buffered_line() {
    const auto end = buffer_.find('\n');
    if (end == std::string::npos) return std::nullopt;
    auto line = buffer_.substr(0, end);
    buffer_.erase(0, end + 1);
    return line;
}

std::optional<std::string> ChildProcess::read_line(Duration timeout) {
    if (auto line = buffered_line()) return line;
    pollfd waiting{output_, POLLIN, 0};
    const int ready = poll(&waiting, 1, static_cast<int>(timeout.count()));
    if (ready < 0 && errno != EINTR) fail("cannot wait for a process");
    if (ready <= 0) return std::nullopt;
    std::array<char, 4096> chunk{};
    const auto size = read(output_, chunk.data(), chunk.size());
    if (size == 0) throw std::runtime_error("a worker process ended on its own");
    if (size < 0) fail("cannot read from a process");
    buffer_.append(chunk.data(), static_cast<std::size_t>(size));
    return buffered_line();
}

void ChildProcess::kill() {
    if (!running_) return;
    ::kill(pid_, SIGKILL);
    reap(Wait::block);
}

void ChildProcess::stop(Duration deadline) {
    if (!running_) return;
    ::kill(pid_, SIGTERM);
    const auto end = std::chrono::steady_clock::now() + deadline;
    while (alive() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(5ms);
    kill();
}

void ChildProcess::reap(Wait wait) {
    const int flags = wait == Wait::poll ? WNOHANG : 0;
    pid_t reaped = 0;
    do {
        reaped = waitpid(pid_, nullptr, flags);
    } while (reaped < 0 && errno == EINTR);
    if (reaped != 0) running_ = false;
}

}  // namespace pawl::cli
