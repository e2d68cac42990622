// Calls that may kill their process: each shall be executed when nothing else is in it. While the
// worker has other work, a suspect waits a moment and then goes back without a strike, for a
// worker that is idle. A worker that never is stops claiming now and then until it is.
#pragma once

#include <chrono>
#include <memory>
#include <stop_token>
#include <utility>
#include <vector>

#include "runtime/committer.h"
#include "runtime/executor.h"

namespace pawl::runtime {

// Gives back what was not started: as if it had not been handed out. Returns how many messages.
int hand_back(
    Committer& committer, LeaseTable& leases, std::span<const std::shared_ptr<Executing>> unstarted
);

// Used by the claiming thread only.
class Suspects {
public:
    using Clock = std::chrono::steady_clock;
    using Calls = std::vector<std::shared_ptr<Executing>>;

    Suspects(Executor& executor, Committer& committer, LeaseTable& leases)
        : executor_(executor), committer_(committer), leases_(leases) {}

    // Two strikes before this hand-out.
    [[nodiscard]] static bool is_one(const Message& message) { return message.strikes > 2; }

    void hold(Calls calls);
    // Executes them alone where the worker is idle, and gives back what has waited long enough.
    void attend(const std::stop_token& stop);
    [[nodiscard]] Clock::time_point next_look() const;
    // True once after room was made for them: the next claim shall bring them before other work.
    [[nodiscard]] bool come_first() { return std::exchange(come_first_, false); }
    int give_back_all();

private:
    struct Held {
        std::shared_ptr<Executing> call;
        Clock::time_point until;
    };

    void run_alone(const std::stop_token& stop);
    [[nodiscard]] bool give_back_old(Clock::time_point now);
    void note_postponed(Clock::time_point now);
    void make_room(const std::stop_token& stop);

    Executor& executor_;
    Committer& committer_;
    LeaseTable& leases_;
    std::vector<Held> held_;
    Duration patience_{0};  // how long to claim nothing at the next try; 0: nothing is put off
    Clock::time_point try_at_{};
    Clock::time_point put_off_at_{};
    bool come_first_ = false;
};

}  // namespace pawl::runtime
