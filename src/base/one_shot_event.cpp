#include "base/one_shot_event.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace pawl::base {

namespace {
// Not std::atomic::wait: it spins and yields before it sleeps, which with hundreds of waiters takes
// most of the CPU time.
void futex(std::atomic<std::uint32_t>* word, int operation, std::uint32_t value) {
    static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));
    syscall(
        SYS_futex, reinterpret_cast<std::uint32_t*>(word), operation, value, nullptr, nullptr, 0
    );
}
}  // namespace

void OneShotEvent::wait() {
    while (open_.load(std::memory_order_acquire) == 0) futex(&open_, FUTEX_WAIT_PRIVATE, 0);
}

void OneShotEvent::open() {
    std::atomic<std::uint32_t>* const word = &open_;
    word->store(1, std::memory_order_release);
    // The event may be destroyed by now. The worst result is a spurious wake-up of another waiter.
    futex(word, FUTEX_WAKE_PRIVATE, 1);
}

}  // namespace pawl::base
