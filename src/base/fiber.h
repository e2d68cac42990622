// A function with a stack of its own, which can leave its thread and go on later, on any thread.
#pragma once

#include <csetjmp>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace pawl::base {

class Fiber;

// A stack, with what is on it while no fiber has it: nothing yet, or the place where the last one
// ended, from which the next one goes on.
struct FiberStack {
    void* memory = nullptr;
    Fiber* fiber = nullptr;  // whose it is
    bool started = false;
    std::jmp_buf inside;  // where it goes on
};

// Stacks of fibers that have ended are used again.
class FiberStacks {
public:
    FiberStacks() = default;
    ~FiberStacks();
    FiberStacks(const FiberStacks&) = delete;
    FiberStacks& operator=(const FiberStacks&) = delete;
    [[nodiscard]] std::unique_ptr<FiberStack> take();
    void give_back(std::unique_ptr<FiberStack> stack);

private:
    std::mutex mutex_;
    std::vector<std::unique_ptr<FiberStack>> free_;
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
    [[noreturn]] static void start(FiberStack& stack);
    static Exceptions swap_exceptions(Exceptions other);

    FiberStacks& stacks_;
    std::function<void()> body_;
    std::function<void()> afterwards_;
    std::unique_ptr<FiberStack> stack_;
    std::jmp_buf outside_;  // where the thread goes on that has resumed it
    Exceptions exceptions_;
    bool ended_ = false;
};

}  // namespace pawl::base
