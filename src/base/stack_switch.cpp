#include "base/stack_switch.h"

#include <cstdint>
#include <cstdlib>
#include <ucontext.h>

#if defined(__SANITIZE_ADDRESS__)
#define PAWL_ADDRESS_SANITIZER
#elif defined(__SANITIZE_THREAD__)
#define PAWL_THREAD_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PAWL_ADDRESS_SANITIZER
#elif __has_feature(thread_sanitizer)
#define PAWL_THREAD_SANITIZER
#endif
#endif

#ifdef PAWL_ADDRESS_SANITIZER
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef PAWL_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

// No instrumented code may run between the report of a switch and the switch: it would be
// attributed to the other stack. So these functions are not inlined into instrumented ones either.
#ifdef __clang__
#define PAWL_UNWATCHED __attribute__((noinline, disable_sanitizer_instrumentation))
#else
#define PAWL_UNWATCHED __attribute__((noinline, no_sanitize("address", "thread")))
#endif

namespace pawl::base {

namespace {

#if defined(__clang__) && !defined(__x86_64__)
#define PAWL_SET_PLACE(place) _setjmp(place)
[[noreturn]] void resume_place(StackPlace& place) {
    _longjmp(place, 1);
}
#else
#define PAWL_SET_PLACE(place) __builtin_setjmp((place).data())
// A separate function, because the two builtins must not be in the same one.
[[noreturn]] PAWL_UNWATCHED void resume_place(StackPlace& place) {
    __builtin_longjmp(place.data(), 1);
}
#endif

PAWL_UNWATCHED void report_switch(
    [[maybe_unused]] StackSide& from, [[maybe_unused]] StackSide& to, [[maybe_unused]] Frames frames
) {
#ifdef PAWL_ADDRESS_SANITIZER
    __sanitizer_start_switch_fiber(
        frames == Frames::kept ? &from.fake_frames : nullptr, to.bottom, to.bytes
    );
    if (frames == Frames::gone) from.fake_frames = nullptr;
#endif
#ifdef PAWL_THREAD_SANITIZER
    from.tsan_context = __tsan_get_current_fiber();
    // Without flags, everything before the switch happens before everything after it: one thread
    // does both.
    __tsan_switch_to_fiber(to.tsan_context, 0);
#endif
}

// makecontext() passes only int arguments, so a pointer is split in two.
struct Start {
    void (*entry)(void*);
    void* argument;
};
PAWL_UNWATCHED void start_here(unsigned int high, unsigned int low) {
    const auto* start = reinterpret_cast<const Start*>(  // NOLINT(performance-no-int-to-ptr)
        (static_cast<std::uintptr_t>(high) << 32U) | static_cast<std::uintptr_t>(low)
    );
    start->entry(start->argument);
    std::abort();  // there is nothing to return to
}

}  // namespace

bool can_switch_stacks() {
#if defined(__clang__) && !defined(__x86_64__) && \
    (defined(PAWL_ADDRESS_SANITIZER) || defined(PAWL_THREAD_SANITIZER))
    return false;
#else
    return true;
#endif
}

PAWL_UNWATCHED void arrived_on_stack(
    [[maybe_unused]] StackSide& self, [[maybe_unused]] StackSide& from
) {
#ifdef PAWL_ADDRESS_SANITIZER
    __sanitizer_finish_switch_fiber(self.fake_frames, &from.bottom, &from.bytes);
#endif
}

PAWL_UNWATCHED void switch_stacks(StackSide& from, StackSide& to, Frames frames) {
    report_switch(from, to, frames);
    if (PAWL_SET_PLACE(from.place) == 0) resume_place(to.place);
    arrived_on_stack(from, to);
}

PAWL_UNWATCHED void start_stack(
    StackSide& from, StackSide& to, void (*entry)(void*), void* argument
) {
    const Start start{entry, argument};
    ucontext_t context;
    getcontext(&context);
    context.uc_stack.ss_sp = const_cast<void*>(to.bottom);
    context.uc_stack.ss_size = to.bytes;
    context.uc_link = nullptr;
    const auto place = reinterpret_cast<std::uintptr_t>(&start);
    makecontext(
        &context,
        reinterpret_cast<void (*)()>(&start_here),
        2,
        static_cast<unsigned int>(place >> 32U),
        static_cast<unsigned int>(place)
    );
    report_switch(from, to, Frames::kept);
    if (PAWL_SET_PLACE(from.place) == 0) setcontext(&context);
    arrived_on_stack(from, to);
}

void announce_stack([[maybe_unused]] StackSide& side) {
#ifdef PAWL_THREAD_SANITIZER
    side.tsan_context = __tsan_create_fiber(0);
#endif
}

void forget_stack([[maybe_unused]] StackSide& side) {
#ifdef PAWL_THREAD_SANITIZER
    __tsan_destroy_fiber(side.tsan_context);
#endif
}

}  // namespace pawl::base
