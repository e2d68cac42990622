#include "base/one_shot_event.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace pawl::base {

namespace {
// std::atomic::wait spins and yields before it sleeps: with hundreds of waiters that is most of the
// processor's time.
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
    // Waking an address that is gone meanwhile does nothing but, at worst, one needless wake-up.
    futex(word, FUTEX_WAKE_PRIVATE, 1);
}

}  // namespace pawl::base
