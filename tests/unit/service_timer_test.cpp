#include "runtime/services/service_timer.h"

#include <gtest/gtest.h>
#include <latch>
#include <mutex>
#include <semaphore>

namespace pawl::test {
namespace {

using runtime::ServiceTimer;
using Clock = ServiceTimer::Clock;
using Service = ServiceTimer::Service;

class ServiceTimerTest : public ::testing::Test {
protected:
    // Ticks once per run_by(), and signals it.
    [[nodiscard]] static ServiceTimer::Tick signal(std::counting_semaphore<>& ticked) {
        return [&ticked](Clock::time_point) {
            ticked.release();
            return ServiceTimer::never;
        };
    }
    [[nodiscard]] std::string log_text() {
        const std::lock_guard lock(mutex_);
        return text_;
    }

private:
    std::mutex mutex_;
    std::string text_;

protected:
    ServiceTimer timer_{base::Log([this](LogLevel, std::string_view line) {
        const std::lock_guard lock(mutex_);
        text_ += line;
    })};
};

TEST_F(ServiceTimerTest, a_service_ticks_at_its_start_and_at_the_times_it_returns) {
    std::counting_semaphore<> done(0);
    int ticks = 0;
    Service service(timer_, "s", [&](Clock::time_point now) {
        if (++ticks < 3) return now;
        done.release();
        return ServiceTimer::never;
    });
    service.start();
    done.acquire();
    service.stop();
    EXPECT_EQ(ticks, 3);
}

TEST_F(ServiceTimerTest, one_that_sleeps_is_woken_early) {
    std::counting_semaphore<> ticked(0);
    Service service(timer_, "s", signal(ticked));
    service.start();
    ticked.acquire();
    service.run_by(Clock::now());
    ticked.acquire();
}

// The tick has read its state before it is changed: the next one must see the change.
TEST_F(ServiceTimerTest, a_wake_up_during_a_tick_is_not_lost) {
    std::counting_semaphore<> inside(0);
    std::counting_semaphore<> go(0);
    Service service(timer_, "s", [&](Clock::time_point) {
        inside.release();
        go.acquire();
        return ServiceTimer::never;
    });
    service.start();
    inside.acquire();
    service.run_by(Clock::now());
    go.release();
    inside.acquire();
    go.release();
}

TEST_F(ServiceTimerTest, services_share_a_thread_and_one_that_is_always_due_lets_others_run) {
    std::thread::id busy_thread;
    std::counting_semaphore<> ticked(0);
    Service busy(timer_, "busy", [&](Clock::time_point now) {
        busy_thread = std::this_thread::get_id();
        return now;
    });
    std::thread::id other_thread;
    Service other(timer_, "other", [&](Clock::time_point now) {
        other_thread = std::this_thread::get_id();
        ticked.release();
        return now;
    });
    busy.start();
    other.start();
    ticked.acquire();
    ticked.acquire();
    busy.stop();
    other.stop();
    EXPECT_EQ(busy_thread, other_thread);
    EXPECT_NE(busy_thread, std::this_thread::get_id());
}

TEST_F(ServiceTimerTest, start_and_stop_are_idempotent_and_a_stopped_one_may_start_again) {
    std::counting_semaphore<> ticked(0);
    Service service(timer_, "s", signal(ticked));
    service.stop();
    service.run_by(Clock::now());
    service.start();
    ticked.acquire();
    service.start();
    service.stop();
    service.stop();
    EXPECT_FALSE(ticked.try_acquire()) << "the second start is a no-op, as run_by() is before";
    service.start();
    ticked.acquire();
}

TEST_F(ServiceTimerTest, stop_waits_for_the_tick_of_its_service_alone) {
    std::latch inside(1);
    std::latch go(1);
    bool ended = false;
    Service slow(timer_, "slow", [&](Clock::time_point) {
        inside.count_down();
        go.wait();
        ended = true;
        return ServiceTimer::never;
    });
    Service other(timer_, "other", [](Clock::time_point) { return ServiceTimer::never; });
    slow.start();
    inside.wait();
    other.start();
    other.stop();  // returns, although the thread is busy
    std::jthread release([&] { go.count_down(); });
    slow.stop();
    EXPECT_TRUE(ended);
}

TEST_F(ServiceTimerTest, an_exception_is_logged_and_the_other_services_run) {
    std::counting_semaphore<> ticked(0);
    Service broken(timer_, "broken", [](Clock::time_point) -> Clock::time_point {
        throw std::runtime_error("out of order");
    });
    Service strange(timer_, "strange", [](Clock::time_point) -> Clock::time_point { throw 1; });
    Service other(timer_, "other", signal(ticked));
    broken.start();
    strange.start();
    other.start();
    ticked.acquire();
    broken.stop();
    strange.stop();
    EXPECT_NE(log_text().find("broken failed, retrying in 1 s: out of order"), std::string::npos);
    EXPECT_NE(log_text().find("strange failed, retrying in 1 s"), std::string::npos);
}

}  // namespace
}  // namespace pawl::test
