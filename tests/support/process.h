// Real processes for tests: the helper program, the command line, the tools.
#pragma once

#include <chrono>
#include <string>
#include <sys/types.h>
#include <vector>

namespace pawl::test {

// A child with pipes at its standard input, output and error. Killed and reaped by the destructor.
class Process {
public:
    explicit Process(std::vector<std::string> command);
    ~Process();
    Process(Process&& other) noexcept;
    Process& operator=(Process&&) = delete;

    [[nodiscard]] pid_t pid() const { return pid_; }
    void signal(int number) const;
    // The exit code, or minus the signal that ended it. Throws after the limit.
    int wait(std::chrono::seconds limit = std::chrono::seconds(50));
    // True if it has ended; `code` as wait() returns it.
    bool ended(int& code);
    // The next line of its output, without the newline; throws at the end of the output or after
    // the limit.
    std::string read_line(std::chrono::seconds limit = std::chrono::seconds(50));
    void write_input(const std::string& text) const;
    void close_input();

private:
    friend struct Finished run(std::vector<std::string> command, const std::string& input);
    pid_t pid_ = -1;
    int input_ = -1;
    int output_ = -1;
    int errors_ = -1;
    std::string buffer_;
    int code_ = 0;  // once it has ended
};

struct Finished {
    int code = 0;
    std::string out;
    std::string err;
};

Finished run(std::vector<std::string> command, const std::string& input = {});

// The helper program, see test_worker.cpp.
Process start_helper(std::vector<std::string> arguments);

}  // namespace pawl::test
