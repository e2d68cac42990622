// A function with a stack of its own, which can leave its thread and go on later, on any thread.
#pragma once

#include <csetjmp>
#include <functional>
#include <mutex>
#include <vector>

namespace pawl::base {

// Stacks of fibers that have ended are used again.
class FiberStacks {
public:
    FiberStacks() = default;
    ~FiberStacks();
    FiberStacks(const FiberStacks&) = delete;
    FiberStacks& operator=(const FiberStacks&) = delete;
    [[nodiscard]] void* take();
    void give_back(void* stack);

private:
    std::mutex mutex_;
    std::vector<void*> free_;
};

class Fiber {
public:
    // False where a sanitizer watches: it takes a change of stacks for an error.
    static bool supported();

    Fiber(FiberStacks& stacks, std::function<void()> body);
    ~Fiber();  // it has ended, or was never resumed
    Fiber(const Fiber&) = delete;
    Fiber& operator=(const Fiber&) = delete;

    enum class State { parked, ended };
    // Runs it on this thread until it parks or ends. When it has parked, another thread may have
    // resumed it, or even ended it, before this returns.
    State resume();

    // The fiber that runs on this thread, if any.
    [[nodiscard]] static Fiber* current();
    // Leaves the thread. There `afterwards` is called, as soon as the fiber can be resumed.
    static void park(std::function<void()> afterwards);

private:
    // What the C++ runtime keeps per thread of exceptions that are being handled.
    struct Exceptions {
        void* caught = nullptr;
        unsigned int uncaught = 0;
    };
    static void enter(unsigned int high, unsigned int low);
    [[noreturn]] void start();
    static Exceptions swap_exceptions(Exceptions other);

    FiberStacks& stacks_;
    std::function<void()> body_;
    std::function<void()> afterwards_;
    void* stack_;
    std::jmp_buf inside_;   // where it goes on
    std::jmp_buf outside_;  // where the thread goes on that has resumed it
    Exceptions exceptions_;
    bool started_ = false;
    bool ended_ = false;
};

}  // namespace pawl::base
