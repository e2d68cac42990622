// Switches a thread from one stack to another, and reports each switch to the sanitizers.
//
// The switch uses __builtin_setjmp and __builtin_longjmp. swapcontext() would make a system call
// for the signal mask each time. The sanitizers intercept _setjmp and _longjmp: AddressSanitizer
// would drop its state of the frames that are left, and ThreadSanitizer reports a jump to another
// stack as an error. They do not intercept the builtins, so all builds use them.
#pragma once

#include <array>
#include <csetjmp>
#include <cstddef>

namespace pawl::base {

// clang has the builtins on x86 only. Elsewhere the C library's functions are used, without support
// for sanitizers.
#if defined(__clang__) && !defined(__x86_64__)
using StackPlace = std::jmp_buf;
#else
using StackPlace = std::array<void*, 5>;
#endif

// False if the build has a sanitizer that does not support switches of stacks.
[[nodiscard]] bool can_switch_stacks();

// One of the two stacks of a switch, and the place where execution resumes.
struct StackSide {
    const void* bottom = nullptr;  // the lowest address; a switch sets it for a thread's stack
    std::size_t bytes = 0;
    StackPlace place{};
    void* fake_frames = nullptr;   // AddressSanitizer's heap copies of locals
    void* tsan_context = nullptr;  // the thread that ThreadSanitizer assigns to this stack
};

// Whether the stack that is left has frames that will resume.
enum class Frames { kept, gone };

// Resumes `to` where it was left. Returns when something switches back to `from`.
void switch_stacks(StackSide& from, StackSide& to, Frames frames = Frames::kept);
// The same for a stack that has not started: calls `entry`, which must not return and must call
// arrived_on_stack() first.
void start_stack(StackSide& from, StackSide& to, void (*entry)(void*), void* argument);
void arrived_on_stack(StackSide& self, StackSide& from);

// Called when a stack that is not a thread's is created and destroyed.
void announce_stack(StackSide& side);
void forget_stack(StackSide& side);

}  // namespace pawl::base
