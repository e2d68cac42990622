// Processes that are stopped (SIGSTOP) in the middle of their work.
#pragma once

#include <csignal>
#include <stdexcept>
#include <sys/wait.h>

#include "support/database.h"
#include "support/process.h"

namespace pawl::test {

// Between two of its writes: SQLite's lock would stay with it, and nobody else could go on.
inline void stop_process(const Process& process, Database& database) {
    for (int tries = 0; tries < 10; ++tries) {
        process.signal(SIGSTOP);
        siginfo_t stopped{};
        waitid(P_PID, static_cast<id_t>(process.pid()), &stopped, WSTOPPED);
        try {
            database.begin();
            database.run("rollback");
            return;
        } catch (const std::runtime_error&) {  // it has the lock
            process.signal(SIGCONT);
        }
    }
    throw std::runtime_error("the process is in a transaction all the time");
}

}  // namespace pawl::test
