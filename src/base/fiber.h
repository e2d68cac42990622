// A function with a stack of its own, which can leave its thread and resume later, on any thread.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/stack_switch.h"

namespace pawl::base {

class Fiber;

// A stack. While no fiber has it nothing is on it, or the place where the last fiber ended, from
// which the next one continues.
struct FiberStack {
    FiberStack();
    ~FiberStack();
    FiberStack(const FiberStack&) = delete;
    FiberStack& operator=(const FiberStack&) = delete;

    void* const memory;
    Fiber* fiber = nullptr;  // whose it is
    bool started = false;
    StackSide inside;
    StackSide outside;  // the thread that has resumed the fiber
};

// Keeps the stacks of fibers that have ended for other fibers. It outlives its fibers.
class FiberStacks {
public:
    [[nodiscard]] std::unique_ptr<FiberStack> take();
    void give_back(std::unique_ptr<FiberStack> stack);

private:
    std::mutex mutex_;
    std::vector<std::unique_ptr<FiberStack>> free_;
};

class Fiber {
public:
    // False if a sanitizer is compiled in that would not understand a change of stacks.
    static bool supported();

    Fiber(FiberStacks& stacks, std::function<void()> body);
    // A parked fiber must not be destroyed, since nothing could destroy the objects on its stack:
    // that ends the program, as with a thread that was not joined.
    ~Fiber();
    Fiber(const Fiber&) = delete;
    Fiber& operator=(const Fiber&) = delete;

    // Runs the fiber on this thread until it parks or ends. Only its owner can resume it.
    static void resume(std::unique_ptr<Fiber> fiber);

    // The fiber that runs on this thread, or null.
    [[nodiscard]] static Fiber* current();
    // Leaves the thread, which then passes the fiber on to `afterwards`. This returns when the new
    // owner resumes the fiber, possibly on another thread and before `afterwards` has returned.
    using Afterwards = std::function<void(std::unique_ptr<Fiber>)>;
    static void park(Afterwards afterwards);

private:
    enum class State { ready, running, parked, ended };
    // What the C++ runtime keeps per thread of exceptions that are being handled.
    struct Exceptions {
        void* caught = nullptr;
        unsigned int uncaught = 0;
    };
    static void run_bodies(void* stack);
    static Exceptions swap_exceptions(Exceptions other);

    FiberStacks& stacks_;
    std::function<void()> body_;
    Afterwards afterwards_;
    std::unique_ptr<FiberStack> stack_;
    Exceptions exceptions_;
    State state_ = State::ready;
};

}  // namespace pawl::base
