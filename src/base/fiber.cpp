#include "base/fiber.h"

#include <cstdint>
#include <cstdlib>
#include <cxxabi.h>
#include <new>
#include <sys/mman.h>
#include <ucontext.h>
#include <utility>

namespace pawl::base {

namespace {

// As much as a thread has; only what is used takes memory. The lowest page is a guard.
constexpr std::size_t stack_bytes = 8 << 20;
constexpr std::size_t guard_bytes = 4096;

// Stacks lie a power of two apart: where they begin would fall on the same few lines of the
// processor's cache, for all of hundreds of fibers. So each begins a little further down.
constexpr std::size_t colours = 128;
constexpr std::size_t colour_bytes = 512;

std::size_t usable_bytes(void* stack) {
    const auto place = reinterpret_cast<std::uintptr_t>(stack) / stack_bytes;
    return stack_bytes - place % colours * colour_bytes;
}

thread_local Fiber* current_fiber = nullptr;  // NOLINT(*-avoid-non-const-global-variables)

// The compiler must not remember the address of a thread's variable: after a change of stacks it is
// another thread's.
[[gnu::noinline]] void set_current(Fiber* fiber) {
    asm volatile("");
    current_fiber = fiber;
}
[[gnu::noinline]] Fiber* get_current() {
    asm volatile("");
    return current_fiber;
}

}  // namespace

FiberStacks::~FiberStacks() {
    for (const auto& stack : free_) munmap(stack->memory, stack_bytes);
}

std::unique_ptr<FiberStack> FiberStacks::take() {
    {
        const std::lock_guard lock(mutex_);
        if (!free_.empty()) {
            auto stack = std::move(free_.back());
            free_.pop_back();
            return stack;
        }
    }
    auto stack = std::make_unique<FiberStack>();
    stack->memory = mmap(
        nullptr,
        stack_bytes,
        PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK,
        -1,
        0
    );
    if (stack->memory == MAP_FAILED) throw std::bad_alloc();
    mprotect(stack->memory, guard_bytes, PROT_NONE);
    return stack;
}

void FiberStacks::give_back(std::unique_ptr<FiberStack> stack) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(stack));
}

bool Fiber::supported() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return false;
#else
    return true;
#endif
}

Fiber::Fiber(FiberStacks& stacks, std::function<void()> body)
    : stacks_(stacks), body_(std::move(body)), stack_(stacks.take()) {
    stack_->fiber = this;
}

Fiber::~Fiber() {
    stacks_.give_back(std::move(stack_));
}

// The first change to a stack needs a context. The others are jumps: both making a context and
// swapcontext() ask the kernel for the signal mask.
void Fiber::start(FiberStack& stack) {
    ucontext_t context;
    getcontext(&context);
    context.uc_stack.ss_sp = stack.memory;
    context.uc_stack.ss_size = usable_bytes(stack.memory);
    context.uc_link = nullptr;
    const auto place = reinterpret_cast<std::uintptr_t>(&stack);
    makecontext(
        &context,
        reinterpret_cast<void (*)()>(&Fiber::enter),
        2,
        static_cast<unsigned int>(place >> 32U),
        static_cast<unsigned int>(place)
    );
    stack.started = true;
    setcontext(&context);
    std::abort();  // it does not come back
}

// One fiber after the other, on the same stack.
void Fiber::enter(unsigned int high, unsigned int low) {
    // makecontext() passes nothing wider than int.
    FiberStack& stack = *reinterpret_cast<FiberStack*>(  // NOLINT(performance-no-int-to-ptr)
        (static_cast<std::uintptr_t>(high) << 32U) | static_cast<std::uintptr_t>(low)
    );
    while (true) {
        stack.fiber->body_();
        stack.fiber->ended_ = true;
        if (_setjmp(stack.inside) == 0) _longjmp(stack.fiber->outside_, 1);
    }
}

Fiber::Exceptions Fiber::swap_exceptions(Exceptions other) {
    auto* globals = reinterpret_cast<Exceptions*>(abi::__cxa_get_globals());
    return std::exchange(*globals, other);
}

Fiber::State Fiber::resume() {
    set_current(this);
    const Exceptions threads = swap_exceptions(exceptions_);
    if (_setjmp(outside_) == 0) {
        if (!stack_->started) start(*stack_);
        _longjmp(stack_->inside, 1);
    }
    exceptions_ = swap_exceptions(threads);
    set_current(nullptr);
    if (ended_) return State::ended;
    const auto afterwards = std::exchange(afterwards_, nullptr);
    afterwards();
    return State::parked;
}

Fiber* Fiber::current() {
    return get_current();
}

void Fiber::park(std::function<void()> afterwards) {
    Fiber* self = get_current();
    self->afterwards_ = std::move(afterwards);
    if (_setjmp(self->stack_->inside) == 0) _longjmp(self->outside_, 1);
}

}  // namespace pawl::base
