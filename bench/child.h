// Another copy of this program, owned: it is dead and reaped when the object goes, and killed by
// the kernel when this process dies first.
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

namespace bench {

class Child {
public:
    // Returns when it has called say_ready(). To be made by a thread that outlives it.
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
