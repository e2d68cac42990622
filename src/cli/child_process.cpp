#include "cli/child_process.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

namespace pawl::cli {

namespace {

constexpr const char* this_program = "/proc/self/exe";

// Runs in the child, which is a copy of one thread of a threaded process: only plain system calls.
[[noreturn]] void become(char* const* words, pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // nobody would stop it when the parent dies
    if (getppid() == parent) execv(this_program, words);
    _exit(127);
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& words) {
    std::vector<std::string> copies(words);
    std::vector<char*> pointers;
    pointers.reserve(copies.size() + 1);
    for (auto& word : copies) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    const pid_t parent = getpid();
    pid_ = fork();
    if (pid_ == 0) become(pointers.data(), parent);
    if (pid_ < 0) throw std::system_error(errno, std::generic_category(), "cannot start a process");
    running_ = true;
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(other.pid_), running_(std::exchange(other.running_, false)) {}

ChildProcess::~ChildProcess() {
    kill();
}

bool ChildProcess::alive() {
    if (running_) reap(Wait::poll);
    return running_;
}

void ChildProcess::freeze() {
    if (!running_) return;
    ::kill(pid_, SIGSTOP);
    int status = 0;
    while (waitpid(pid_, &status, WUNTRACED) < 0 && errno == EINTR) {
    }
    if (!WIFSTOPPED(status)) running_ = false;
}

void ChildProcess::thaw() {
    if (running_) ::kill(pid_, SIGCONT);
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
