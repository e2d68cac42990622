// A child process that runs this program. The destructor kills and reaps it; the kernel kills it if
// this process dies first.
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

namespace bench {

class Child {
public:
    // Returns when the child has called say_ready(). The calling thread must outlive the child.
    explicit Child(std::vector<std::string> words);
    ~Child();
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    static void say_ready();

private:
    void end() const;

    pid_t pid_ = 0;
};

}  // namespace bench
