// A function with its own stack, which can leave its thread and resume later, on any thread.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/stack_switch.h"

namespace pawl::base {

class Fiber;

// A stack. It is unused, belongs to a fiber, or is suspended where its last fiber ended; the next
// fiber continues from there.
struct FiberStack {
    FiberStack();
    ~FiberStack();
    FiberStack(const FiberStack&) = delete;
    FiberStack& operator=(const FiberStack&) = delete;

    void* const memory;
    Fiber* fiber = nullptr;  // the current owner
    bool started = false;
    StackSide inside;
    StackSide outside;  // the thread that has resumed the fiber
};

// Keeps the stacks of fibers that have ended for other fibers. It outlives its fibers.
class FiberStacks {
public:
    [[nodiscard]] std::unique_ptr<FiberStack> take();
    void put_back(std::unique_ptr<FiberStack> stack);

private:
    std::mutex mutex_;
    std::vector<std::unique_ptr<FiberStack>> free_;
};

class Fiber {
public:
    // False if the build has a sanitizer that does not support switches of stacks.
    static bool supported();

    Fiber(FiberStacks& stacks, std::function<void()> body);
    // Destroying a parked fiber terminates the program, like destroying a thread that was not
    // joined: nothing could destroy the objects on its stack.
    ~Fiber();
    Fiber(const Fiber&) = delete;
    Fiber& operator=(const Fiber&) = delete;

    // Runs the fiber on this thread until it parks or ends. Only its owner can resume it.
    static void resume(std::unique_ptr<Fiber> fiber);

    // The fiber that runs on this thread, or null.
    [[nodiscard]] static Fiber* current();
    // Leaves the thread, which then moves the fiber into `afterwards`. park() returns when the new
    // owner resumes the fiber, possibly on another thread and before `afterwards` has returned.
    using Afterwards = std::function<void(std::unique_ptr<Fiber>)>;
    static void park(Afterwards afterwards);

private:
    enum class State { ready, running, parked, ended };
    // The C++ runtime's per-thread state of exceptions that are being handled.
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
