// Switches a thread from one stack to another, and reports each switch to the sanitizers.
//
// The switch is __builtin_setjmp and __builtin_longjmp. swapcontext() would ask the kernel for the
// signal mask each time. The sanitizers intercept _setjmp and _longjmp: AddressSanitizer would
// forget what it knows about the frames that are left, and ThreadSanitizer takes a jump to another
// stack for an error. They do not see the builtins, so every build switches in the same way.
#pragma once

#include <array>
#include <csetjmp>
#include <cstddef>

namespace pawl::base {

// clang has the builtins on x86 only. Elsewhere the functions of the C library do the same, but
// not under a sanitizer.
#if defined(__clang__) && !defined(__x86_64__)
using StackPlace = std::jmp_buf;
#else
using StackPlace = std::array<void*, 5>;
#endif

// False if a sanitizer is compiled in that would not understand a switch.
[[nodiscard]] bool can_switch_stacks();

// One of the two stacks of a switch, and the place where its execution resumes.
struct StackSide {
    const void* bottom = nullptr;  // the lowest address; of a thread's own stack: set by a switch
    std::size_t bytes = 0;
    StackPlace place{};
    void* fake_frames = nullptr;   // of AddressSanitizer: locals that it keeps on the heap
    void* tsan_context = nullptr;  // of ThreadSanitizer: the thread that it takes this stack for
};

// Whether the stack that is left still has frames that will resume.
enum class Frames { kept, gone };

// Resumes the place where `to` was left. Returns when something switches back to `from`.
void switch_stacks(StackSide& from, StackSide& to, Frames frames = Frames::kept);
// The same for a stack that has no such place yet: calls `entry`, which must not return. `entry`
// calls arrived_on_stack() first.
void start_stack(StackSide& from, StackSide& to, void (*entry)(void*), void* argument);
void arrived_on_stack(StackSide& self, StackSide& from);

// Around the life of a stack that is not a thread's own.
void announce_stack(StackSide& side);
void forget_stack(StackSide& side);

}  // namespace pawl::base
