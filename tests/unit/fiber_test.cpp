#include "base/fiber.h"

#include <array>
#include <condition_variable>
#include <deque>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <thread>

namespace pawl::test {
namespace {

using base::Fiber;
using base::FiberStacks;
using Owned = std::unique_ptr<Fiber>;

// Parked fibers, which any thread may take and resume.
class Parked {
public:
    void park() {
        Fiber::park([this](Owned fiber) { add(std::move(fiber)); });
    }
    void add(Owned fiber) {
        const std::lock_guard lock(mutex_);
        fibers_.push_back(std::move(fiber));
        changed_.notify_all();
    }
    // Null after close(), when no fiber is left.
    [[nodiscard]] Owned take() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return !fibers_.empty() || closed_; });
        if (fibers_.empty()) return nullptr;
        Owned fiber = std::move(fibers_.front());
        fibers_.pop_front();
        return fiber;
    }
    void close() {
        const std::lock_guard lock(mutex_);
        closed_ = true;
        changed_.notify_all();
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Owned> fibers_;
    bool closed_ = false;
};

class FiberTest : public ::testing::Test {
protected:
    void SetUp() override {
        if (!Fiber::supported()) GTEST_SKIP() << "not with this compiler and this sanitizer";
    }
    template <class F>
    void start(F body) {
        Fiber::resume(std::make_unique<Fiber>(stacks_, std::move(body)));
    }
    void resume_next() { Fiber::resume(parked_.take()); }

    FiberStacks stacks_;  // NOLINT(*-non-private-member-variables-in-classes)
    Parked parked_;       // NOLINT(*-non-private-member-variables-in-classes)
};

TEST_F(FiberTest, a_fiber_that_parks_resumes_where_it_was) {
    std::string trace;
    EXPECT_EQ(Fiber::current(), nullptr);
    start([&] {
        const Fiber* self = Fiber::current();
        trace += "a";
        parked_.park();
        trace += "c";
        EXPECT_NE(self, nullptr);
        EXPECT_EQ(Fiber::current(), self);
    });
    EXPECT_EQ(Fiber::current(), nullptr);
    trace += "b";
    resume_next();
    EXPECT_EQ(trace, "abc");
}

TEST_F(FiberTest, the_stack_of_a_fiber_that_ended_is_used_again) {
    int runs = 0;
    start([&] { ++runs; });
    auto stack = stacks_.take();
    EXPECT_TRUE(stack->started);
    stacks_.put_back(std::move(stack));
    start([&] {
        ++runs;
        parked_.park();
        ++runs;
    });
    resume_next();
    EXPECT_EQ(runs, 3);
}

TEST_F(FiberTest, a_fiber_that_was_never_resumed_can_be_destroyed) {
    const auto held = std::make_shared<int>(1);
    {
        const Fiber never(stacks_, [held] { FAIL(); });
    }
    EXPECT_EQ(held.use_count(), 1);
    int runs = 0;
    start([&] { ++runs; });
    EXPECT_EQ(runs, 1) << "its stack is used again";
}

using FiberDeathTest = FiberTest;

TEST_F(FiberDeathTest, destroying_a_parked_fiber_ends_the_program) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            start([&] { parked_.park(); });
            parked_.take().reset();
        },
        "terminate called"
    );
}

int throw_deep_down(int depth) {
    const std::string local(100, 'x');
    if (depth == 0) throw std::runtime_error("from the bottom");
    return throw_deep_down(depth - 1) + static_cast<int>(local.size());
}

TEST_F(FiberTest, exceptions_are_caught_inside_the_fiber) {
    std::string caught;
    start([&] {
        for (int i = 0; i < 3; ++i) {
            try {
                if (i == 1) parked_.park();
                throw_deep_down(20);
            } catch (const std::runtime_error& error) {
                caught += error.what();
                caught += ";";
            }
        }
    });
    resume_next();
    EXPECT_EQ(caught, "from the bottom;from the bottom;from the bottom;");
}

std::string message_being_handled() {
    try {
        throw;
    } catch (const std::exception& error) {
        return error.what();
    }
}

// The runtime keeps the exceptions that are being handled per thread, as a stack.
TEST_F(FiberTest, catch_blocks_keep_their_exceptions_while_others_run) {
    std::vector<std::string> seen;
    const auto body = [&](const std::string& name) {
        try {
            throw std::runtime_error(name + " outer");
        } catch (const std::exception&) {
            parked_.park();
            try {
                throw std::logic_error(name + " inner");
            } catch (const std::exception&) {
                parked_.park();
                seen.push_back(message_being_handled());
            }
            parked_.park();
            seen.push_back(message_being_handled());
        }
        EXPECT_EQ(std::current_exception(), nullptr);
    };
    try {
        throw std::runtime_error("the thread's");
    } catch (const std::exception&) {
        start([&] { body("a"); });
        start([&] { body("b"); });
        for (int i = 0; i < 6; ++i) {
            resume_next();  // a and b in turn
            EXPECT_EQ(message_being_handled(), "the thread's");
        }
    }
    EXPECT_EQ(std::current_exception(), nullptr);
    const std::vector<std::string> expected{"a inner", "b inner", "a outer", "b outer"};
    EXPECT_EQ(seen, expected);
}

// A destructor that parks during stack unwinding.
TEST_F(FiberTest, an_exception_in_flight_stays_with_its_fiber) {
    struct ParksAtTheEnd {
        Parked& parked;
        int& in_flight;
        ~ParksAtTheEnd() {
            parked.park();
            in_flight = std::uncaught_exceptions();
        }
    };
    int in_flight = 0;
    start([&] {
        try {
            const ParksAtTheEnd guard{parked_, in_flight};
            throw std::runtime_error("passes");
        } catch (const std::runtime_error&) {
        }
    });
    EXPECT_EQ(std::uncaught_exceptions(), 0);
    resume_next();
    EXPECT_EQ(in_flight, 1);
}

// Six of the eight megabytes, plus the overhead of a sanitizer.
int park_deep_down(Parked& parked, int depth) {
    std::array<volatile char, 1024> local{};
    local[static_cast<std::size_t>(depth) % local.size()] = 1;
    const int below = depth == 0 ? (parked.park(), 0) : park_deep_down(parked, depth - 1);
    return below + local[static_cast<std::size_t>(depth) % local.size()];
}

TEST_F(FiberTest, a_deep_stack_survives_a_park) {
    constexpr int depth = 4'000;
    int sum = 0;
    int other = 0;
    start([&] { sum = park_deep_down(parked_, depth); });
    start([&] { other = park_deep_down(parked_, depth / 2); });
    resume_next();
    resume_next();
    EXPECT_EQ(sum, depth + 1);
    EXPECT_EQ(other, depth / 2 + 1);
}

TEST_F(FiberTest, a_fiber_resumes_on_another_thread) {
    std::thread::id first;
    std::thread::id second;
    std::string caught;
    start([&] {
        first = std::this_thread::get_id();
        try {
            throw std::runtime_error("taken along");
        } catch (const std::exception&) {
            parked_.park();
            // Not get_id() again: the compiler may assume that it is unchanged.
            caught = message_being_handled();
        }
    });
    std::thread([&] {
        second = std::this_thread::get_id();
        resume_next();
        EXPECT_EQ(std::current_exception(), nullptr);
    }).join();
    EXPECT_NE(first, second);
    EXPECT_EQ(caught, "taken along");
}

// The state of a fiber needs no lock, even if it moves between threads.
TEST_F(FiberTest, many_fibers_wander_between_threads) {
    constexpr int fibers = 200;
    constexpr int parks = 50;
    std::vector<int> sums(fibers, 0);
    std::mutex mutex;
    int left = fibers;
    std::vector<std::thread> threads;
    threads.reserve(4);
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&] {
            while (Owned fiber = parked_.take()) Fiber::resume(std::move(fiber));
        });
    for (int i = 0; i < fibers; ++i) {
        parked_.add(std::make_unique<Fiber>(stacks_, [&, i] {
            for (int j = 0; j < parks; ++j) {
                try {
                    throw j;
                } catch (const int number) {
                    parked_.park();
                    sums[static_cast<std::size_t>(i)] += number;
                }
            }
            const std::lock_guard lock(mutex);
            if (--left == 0) parked_.close();
        }));
    }
    for (auto& thread : threads) thread.join();
    for (const int sum : sums) EXPECT_EQ(sum, parks * (parks - 1) / 2);
}

}  // namespace
}  // namespace pawl::test
