#include "runtime/signals.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace pawl::runtime {

namespace {

// A signal handler can reach nothing but globals.
std::atomic<bool> requested = false;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
std::atomic<int> wake_fd = -1;        // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

void on_signal(int) {
    const int saved = errno;
    requested = true;
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = write(wake_fd, &one, sizeof one);
    errno = saved;
}

}  // namespace

void catch_termination_signals() {
    if (wake_fd < 0) wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    requested = false;
    struct sigaction action {};
    action.sa_handler = on_signal;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
}

bool termination_requested() {
    return requested;
}

void wait_for_termination(Duration time) {
    pollfd waiting{wake_fd, POLLIN, 0};
    poll(&waiting, 1, static_cast<int>(time.count()));
}

}  // namespace pawl::runtime
