#include "base/fiber.h"

#include <cstdint>
#include <cxxabi.h>
#include <exception>
#include <new>
#include <sys/mman.h>
#include <utility>

namespace pawl::base {

namespace {

// The size of a thread's stack; unused pages take no memory. The lowest page is a guard.
constexpr std::size_t stack_bytes = 8 << 20;
constexpr std::size_t guard_bytes = 4096;

// Stacks are a power of two apart, so the tops of hundreds of stacks would share a few cache lines.
// Each stack therefore begins at a different offset.
constexpr std::size_t colours = 128;
constexpr std::size_t colour_bytes = 512;

std::size_t usable_bytes(void* stack) {
    const auto place = reinterpret_cast<std::uintptr_t>(stack) / stack_bytes;
    return stack_bytes - place % colours * colour_bytes;
}

void* map_stack() {
    void* const memory = mmap(
        nullptr,
        stack_bytes,
        PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK,
        -1,
        0
    );
    if (memory == MAP_FAILED) throw std::bad_alloc();
    mprotect(memory, guard_bytes, PROT_NONE);
    return memory;
}

thread_local Fiber* current_fiber = nullptr;  // NOLINT(*-avoid-non-const-global-variables)

// The compiler must not cache the address of the thread_local variable: after a switch of stacks
// the fiber may run on another thread.
[[gnu::noinline]] void set_current(Fiber* fiber) {
    asm volatile("");
    current_fiber = fiber;
}
[[gnu::noinline]] Fiber* get_current() {
    asm volatile("");
    return current_fiber;
}

}  // namespace

FiberStack::FiberStack() : memory(map_stack()) {
    inside.bottom = memory;
    inside.bytes = usable_bytes(memory);
    announce_stack(inside);
}

FiberStack::~FiberStack() {
    forget_stack(inside);
    munmap(memory, stack_bytes);
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
    return std::make_unique<FiberStack>();
}

void FiberStacks::put_back(std::unique_ptr<FiberStack> stack) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(stack));
}

bool Fiber::supported() {
    return can_switch_stacks();
}

Fiber::Fiber(FiberStacks& stacks, std::function<void()> body)
    : stacks_(stacks), body_(std::move(body)), stack_(stacks.take()) {
    stack_->fiber = this;
}

Fiber::~Fiber() {
    if (state_ == State::parked) std::terminate();
    stacks_.put_back(std::move(stack_));
}

// Runs the bodies of successive fibers on one stack.
void Fiber::run_bodies(void* stack) {
    auto& mine = *static_cast<FiberStack*>(stack);
    arrived_on_stack(mine.inside, mine.outside);
    while (true) {
        mine.fiber->body_();
        mine.fiber->state_ = State::ended;
        switch_stacks(mine.inside, mine.outside, Frames::gone);
    }
}

Fiber::Exceptions Fiber::swap_exceptions(Exceptions other) {
    auto* globals = reinterpret_cast<Exceptions*>(abi::__cxa_get_globals());
    return std::exchange(*globals, other);
}

void Fiber::resume(std::unique_ptr<Fiber> fiber) {
    FiberStack& stack = *fiber->stack_;
    fiber->state_ = State::running;
    set_current(fiber.get());
    const Exceptions threads = swap_exceptions(fiber->exceptions_);
    if (stack.started) {
        switch_stacks(stack.outside, stack.inside);
    } else {
        stack.started = true;
        start_stack(stack.outside, stack.inside, &Fiber::run_bodies, &stack);
    }
    fiber->exceptions_ = swap_exceptions(threads);
    set_current(nullptr);
    if (fiber->state_ == State::ended) return;
    const auto afterwards = std::exchange(fiber->afterwards_, nullptr);
    afterwards(std::move(fiber));
}

Fiber* Fiber::current() {
    return get_current();
}

void Fiber::park(Afterwards afterwards) {
    Fiber* const self = get_current();
    self->afterwards_ = std::move(afterwards);
    self->state_ = State::parked;
    switch_stacks(self->stack_->inside, self->stack_->outside);
}

}  // namespace pawl::base
