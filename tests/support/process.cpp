#include "support/process.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace pawl::test {

namespace {

using Clock = std::chrono::steady_clock;

struct Pipe {
    int read_end = -1;
    int write_end = -1;
    Pipe() {
        std::array<int, 2> ends{};
        if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe2 failed");
        read_end = ends[0];
        write_end = ends[1];
    }
};

void close_if_open(int& file) {
    if (file >= 0) close(file);
    file = -1;
}

int milliseconds_until(Clock::time_point deadline) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    return static_cast<int>(std::max<std::chrono::milliseconds::rep>(left.count(), 0));
}

}  // namespace

Process::Process(std::vector<std::string> command) {
    Pipe in;
    Pipe out;
    Pipe err;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in.read_end, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out.write_end, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, err.write_end, STDERR_FILENO);
    std::vector<char*> arguments;
    for (std::string& argument : command) arguments.push_back(argument.data());
    arguments.push_back(nullptr);
    const int problem =
        posix_spawnp(&pid_, arguments.front(), &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    close_if_open(in.read_end);
    close_if_open(out.write_end);
    close_if_open(err.write_end);
    input_ = in.write_end;
    output_ = out.read_end;
    errors_ = err.read_end;
    if (problem != 0)
        throw std::runtime_error("cannot start " + command.front() + ": " + std::strerror(problem));
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      input_(std::exchange(other.input_, -1)),
      output_(std::exchange(other.output_, -1)),
      errors_(std::exchange(other.errors_, -1)),
      buffer_(std::move(other.buffer_)),
      code_(other.code_) {}

Process::~Process() {
    if (pid_ > 0) {
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
    }
    close_if_open(input_);
    close_if_open(output_);
    close_if_open(errors_);
}

void Process::signal(int number) const {
    if (pid_ > 0) kill(pid_, number);
}

bool Process::ended(int& code) {
    int status = 0;
    if (pid_ > 0 && waitpid(pid_, &status, WNOHANG) != 0) {
        pid_ = -1;
        code_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    }
    code = code_;
    return pid_ < 0;
}

int Process::wait(std::chrono::seconds limit) {
    const auto deadline = Clock::now() + limit;
    int code = 0;
    while (!ended(code)) {
        if (Clock::now() > deadline) throw std::runtime_error("the process does not end");
        poll(nullptr, 0, 5);
    }
    return code;
}

std::string Process::read_line(std::chrono::seconds limit) {
    const auto deadline = Clock::now() + limit;
    while (true) {
        if (const auto end = buffer_.find('\n'); end != std::string::npos) {
            std::string line = buffer_.substr(0, end);
            buffer_.erase(0, end + 1);
            return line;
        }
        pollfd waiting{output_, POLLIN, 0};
        if (poll(&waiting, 1, milliseconds_until(deadline)) == 0)
            throw std::runtime_error("the process prints no line");
        std::array<char, 4096> chunk{};
        const auto size = read(output_, chunk.data(), chunk.size());
        if (size <= 0) throw std::runtime_error("the process ended without the line expected");
        buffer_.append(chunk.data(), static_cast<std::size_t>(size));
    }
}

void Process::write_input(const std::string& text) const {
    if (write(input_, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
        throw std::runtime_error("cannot write to the process");
}

void Process::close_input() {
    close_if_open(input_);
}

Finished run(std::vector<std::string> command, const std::string& input) {
    Process process(std::move(command));
    if (!input.empty()) process.write_input(input);
    process.close_input();
    Finished finished;
    std::array<std::pair<int, std::string*>, 2> streams{
        std::pair{process.output_, &finished.out}, std::pair{process.errors_, &finished.err}};
    std::array<bool, 2> open{true, true};
    while (open[0] || open[1]) {
        std::array<pollfd, 2> waiting{
            pollfd{open[0] ? streams[0].first : -1, POLLIN, 0},
            pollfd{open[1] ? streams[1].first : -1, POLLIN, 0}};
        poll(waiting.data(), waiting.size(), -1);
        for (std::size_t i = 0; i < streams.size(); ++i) {
            if (waiting[i].revents == 0) continue;
            std::array<char, 4096> chunk{};
            const auto size = read(streams[i].first, chunk.data(), chunk.size());
            if (size <= 0) {
                open[i] = false;
            } else {
                streams[i].second->append(chunk.data(), static_cast<std::size_t>(size));
            }
        }
    }
    finished.code = process.wait();
    return finished;
}

Process start_helper(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), PAWL_TEST_WORKER);
    return Process(std::move(arguments));
}

}  // namespace pawl::test
