#include "runtime/signals.h"

#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace pawl::runtime {

namespace {

// A signal handler can reach nothing but globals. It wakes by the system call itself: a condition
// variable may not be touched there.
std::atomic<std::uint32_t> came = 0;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

void futex_came(int operation, std::uint32_t value, const timespec* timeout) {
    syscall(
        SYS_futex, reinterpret_cast<std::uint32_t*>(&came), operation, value, timeout, nullptr, 0
    );
}

void on_signal(int) {
    const int saved = errno;
    ++came;
    futex_came(FUTEX_WAKE_PRIVATE, INT_MAX, nullptr);
    errno = saved;
}

}  // namespace

std::uint32_t catch_termination_signals() {
    const std::uint32_t before = came;
    struct sigaction action {};
    action.sa_handler = on_signal;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
    return before;
}

bool termination_requested(std::uint32_t since) {
    return came != since;
}

void wait_for_termination(std::uint32_t since, Duration time) {
    const timespec timeout{time.count() / 1'000, time.count() % 1'000 * 1'000'000};
    futex_came(FUTEX_WAIT_PRIVATE, since, &timeout);
}

}  // namespace pawl::runtime
