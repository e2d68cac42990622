// Processes that are stopped (SIGSTOP) in the middle of their work.
#pragma once

#include <csignal>
#include <sys/wait.h>

#include "support/database.h"
#include "support/process.h"

namespace pawl::test {

// Stops it between two of its writes: otherwise it would keep SQLite's lock and block all others.
// So the test holds the lock at that moment.
inline void stop_process(const Process& process, Database& database) {
    database.begin();
    process.signal(SIGSTOP);
    siginfo_t stopped{};
    waitid(P_PID, static_cast<id_t>(process.pid()), &stopped, WSTOPPED);
    database.run("rollback");
}

}  // namespace pawl::test
