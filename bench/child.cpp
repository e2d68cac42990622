#include "child.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace bench {

namespace {

constexpr int start_timeout_ms = 30'000;
constexpr int ready_pipe = 3;  // in the child

[[noreturn]] void fail(const char* what) {
    throw std::system_error(errno, std::generic_category(), what);
}

// Runs after fork() in a threaded process, so it uses only plain system calls.
[[noreturn]] void become(char* const* words, pid_t parent, int ready) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const bool passed =
        ready == ready_pipe ? fcntl(ready, F_SETFD, 0) == 0 : dup2(ready, ready_pipe) == ready_pipe;
    if (passed && getppid() == parent) execv("/proc/self/exe", words);
    _exit(127);
}

}  // namespace

Child::Child(std::vector<std::string> words) {
    words.insert(words.begin(), "pawl_bench");
    std::vector<char*> pointers;
    for (auto& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    std::array<int, 2> pipe{};
    if (pipe2(pipe.data(), O_CLOEXEC) != 0) fail("cannot create a pipe");
    const pid_t parent = getpid();
    pid_ = fork();
    if (pid_ == 0) become(pointers.data(), parent, pipe[1]);
    close(pipe[1]);
    pollfd ready{pipe[0], POLLIN, 0};
    char byte = 0;
    const bool said =
        pid_ > 0 && poll(&ready, 1, start_timeout_ms) > 0 && read(pipe[0], &byte, 1) == 1;
    close(pipe[0]);
    if (said) return;
    end();
    throw std::runtime_error("the other process did not start");
}

Child::~Child() {
    end();
}

void Child::end() const {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

void Child::say_ready() {
    if (write(ready_pipe, "r", 1) != 1)
        throw std::runtime_error("cannot signal readiness to the parent process");
}

}  // namespace bench
