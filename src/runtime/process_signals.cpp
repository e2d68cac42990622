#include "runtime/process_signals.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <ctime>
#include <linux/futex.h>
#include <mutex>
#include <sys/syscall.h>
#include <unistd.h>

namespace pawl::runtime {

namespace {

constexpr std::array caught_signals{SIGINT, SIGTERM};

// A signal handler can only use globals, and must not touch a condition variable, so it wakes the
// waiters with a system call.
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
std::atomic<std::uint32_t> arrived_signals = 0;
std::atomic<bool> draining = false;  // a signal has arrived since signals are caught
std::mutex catch_mutex;
int catchers = 0;
std::array<struct sigaction, caught_signals.size()> actions_before{};
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

void futex_arrived(int operation, std::uint32_t value, const timespec* timeout) {
    syscall(
        SYS_futex,
        reinterpret_cast<std::uint32_t*>(&arrived_signals),
        operation,
        value,
        timeout,
        nullptr,
        0
    );
}

void on_signal(int signal) {
    const int saved = errno;
    if (draining.exchange(true)) {
        std::signal(signal, SIG_DFL);
        raise(signal);  // takes effect when this handler returns
    }
    ++arrived_signals;
    futex_arrived(FUTEX_WAKE_PRIVATE, INT_MAX, nullptr);
    errno = saved;
}

}  // namespace

CaughtSignals::CaughtSignals() {
    const std::lock_guard lock(catch_mutex);
    before_ = arrived_signals;
    if (catchers++ > 0) return;
    draining = false;
    struct sigaction action {};
    action.sa_handler = on_signal;
    sigemptyset(&action.sa_mask);
    for (std::size_t i = 0; i < caught_signals.size(); ++i)
        sigaction(caught_signals[i], &action, &actions_before[i]);
}

// A handler that the program has installed in the meantime stays.
CaughtSignals::~CaughtSignals() {
    const std::lock_guard lock(catch_mutex);
    if (--catchers > 0) return;
    for (std::size_t i = 0; i < caught_signals.size(); ++i) {
        struct sigaction current {};
        sigaction(caught_signals[i], nullptr, &current);
        if (current.sa_handler == on_signal)
            sigaction(caught_signals[i], &actions_before[i], nullptr);
    }
}

bool CaughtSignals::arrived() const {
    return arrived_signals != before_;
}

void CaughtSignals::wait(Duration time) const {
    const timespec timeout{time.count() / 1'000, time.count() % 1'000 * 1'000'000};
    futex_arrived(FUTEX_WAIT_PRIVATE, before_, &timeout);
}

}  // namespace pawl::runtime
