#include "runtime/executor.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/random.h"
#include "model/check.h"
#include "model/retry.h"
#include "model/run_error.h"

namespace pawl::runtime {

using store::settle_write;
using store::Write;
using store::WriteKind;
using store::WriteOutcome;
using store::WriteStatus;

namespace {

constexpr double fetch_ahead_seconds = 0.05;
constexpr int max_fetch_ahead = 1'000;
constexpr Duration measure_every = 10ms;

}  // namespace

Executor::Executor(
    const WorkerOptions& options, Committer& committer, LeaseTable& leases, store::Backend& backend
)
    : options_(options),
      committer_(committer),
      leases_(leases),
      backend_(backend),
      runner_(committer, backend, watchdog_) {}

Executor::~Executor() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    work_.notify_all();
    for (auto& thread : threads_) thread.join();
}

void Executor::push(std::vector<std::shared_ptr<Executing>> work) {
    const std::lock_guard lock(mutex_);
    for (auto& executing : work) queued_.push_back(std::move(executing));
    const std::size_t idle = threads_.size() - running_count_;
    for (std::size_t i = 0; i < std::min(work.size(), idle); ++i) work_.notify_one();
    while (threads_.size() - running_count_ < queued_.size() &&
           threads_.size() < static_cast<std::size_t>(options_.concurrency)) {
        const std::size_t slot = threads_.size();
        running_.emplace_back();
        threads_.emplace_back([this, slot] { this->work(slot); });
    }
}

int Executor::room() {
    const auto now = Clock::now();
    if (now - measured_at_ >= measure_every) {
        const std::chrono::duration<double> passed = now - measured_at_;
        const double rate = static_cast<double>(finished_ - finished_before_) / passed.count();
        calls_per_second_ = (calls_per_second_ + rate) / 2;
        finished_before_ = finished_;
        measured_at_ = now;
    }
    const int ahead =
        static_cast<int>(std::min<double>(calls_per_second_ * fetch_ahead_seconds, max_fetch_ahead)
        );
    const int capacity = options_.concurrency + ahead;
    const int free = capacity - static_cast<int>(queued_.size() + running_count_);
    // Where handlers are fast, few large claims beat many small ones.
    return free * 2 > ahead ? free : 0;
}

int Executor::wait_for_room(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    int free = 0;
    ++waiting_for_room_;
    changed_.wait(lock, stop, [&] { return (free = room()) > 0; });
    --waiting_for_room_;
    return stop.stop_requested() ? 0 : free;
}

bool Executor::wait_until_idle(Clock::time_point deadline, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    ++waiting_for_end_;
    const bool idle = changed_.wait_until(lock, stop, deadline, [&] {
        return queued_.empty() && running_count_ == 0;
    });
    --waiting_for_end_;
    return idle;
}

// The mutex is held. Thousands of calls end in a second: nobody is woken who would find nothing.
void Executor::tell_waiting() {
    const bool room_found = waiting_for_room_ > 0 && room() > 0;
    const bool end_found = waiting_for_end_ > 0 && queued_.empty() && running_count_ == 0;
    if (room_found || end_found) changed_.notify_all();
}

std::vector<std::shared_ptr<Executing>> Executor::take_unstarted(Clock::time_point claimed_before) {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<Executing>> taken;
    std::deque<std::shared_ptr<Executing>> kept;
    for (auto& executing : queued_) {
        if (executing->claimed_at_steady < claimed_before) {
            taken.push_back(std::move(executing));
        } else {
            kept.push_back(std::move(executing));
        }
    }
    queued_ = std::move(kept);
    tell_waiting();
    return taken;
}

std::vector<std::shared_ptr<Executing>> Executor::abandon() {
    std::vector<std::shared_ptr<Executing>> running;
    {
        const std::lock_guard lock(mutex_);
        for (const auto& executing : running_) {
            if (executing) running.push_back(executing);
        }
    }
    for (const auto& executing : running) executing->stop.request_stop();
    return running;
}

void Executor::work(std::size_t slot) {
    std::unique_lock lock(mutex_);
    while (true) {
        work_.wait(lock, [&] { return stopping_ || !queued_.empty(); });
        if (stopping_) return;
        const std::shared_ptr<Executing> executing = std::move(queued_.front());
        queued_.pop_front();
        running_[slot] = executing;
        ++running_count_;
        lock.unlock();
        run(executing);
        lock.lock();
        running_[slot].reset();
        --running_count_;
        ++finished_;
        tell_waiting();
    }
}

void Executor::run(const std::shared_ptr<Executing>& executing) {
    std::vector<Write> writes;
    if (leases_.assign(executing) == 0) {
        // Too late to start: somebody else has them. Forgetting them is all that is left to do.
        for (const Message& message : executing->messages)
            writes.push_back(settle_write(WriteKind::hand_back, message.lease()));
        return leases_.forget(writes);
    }
    if (!executing->run) return settle(executing, report(*executing));
    if (auto last = runner_.run(*executing)) {
        writes.push_back(std::move(*last));
        return settle(executing, std::move(writes));
    }
    writes.push_back(settle_write(WriteKind::hand_back, executing->messages.front().lease()));
    leases_.forget(writes);
}

// The committer outlives the executor: its callback may not lean on us.
void Executor::settle(const std::shared_ptr<Executing>& executing, std::vector<Write> writes) {
    committer_.submit(
        std::move(writes),
        [&leases = leases_,
         log = backend_.log(),
         executing](std::span<const Write> settled, std::span<const WriteOutcome> outcomes) {
            leases.forget(settled);
            for (std::size_t i = 0; i < settled.size(); ++i) {
                if (outcomes[i].status != WriteStatus::rejected) continue;
                log.error(fmt::format(
                    "message {} of queue '{}' could not be settled, it comes back after its lease: "
                    "{}",
                    settled[i].lease.message.value(),
                    executing->spec->queue,
                    outcomes[i].error
                ));
            }
        }
    );
}

std::vector<Write> Executor::report(Executing& executing) {
    executing.decisions.resize(executing.messages.size());
    try {
        HandlerContext context(executing);
        executing.spec->handler(context);
    } catch (...) {
        return failure(executing, std::current_exception());
    }
    std::vector<Write> writes;
    writes.reserve(executing.messages.size());
    for (std::size_t i = 0; i < executing.messages.size(); ++i) {
        if (auto& decision = executing.decisions[i]) {
            if (decision->kind == WriteKind::fail) decision->delay = backoff(executing.messages[i]);
            writes.push_back(std::move(*decision));
        } else {
            writes.push_back(settle_write(WriteKind::archive, executing.messages[i].lease()));
        }
    }
    return writes;
}

std::vector<Write> Executor::failure(const Executing& executing, const std::exception_ptr& thrown) {
    const model::Thrown why = model::describe(thrown);
    const bool permanent = why.kind == model::Thrown::Kind::permanent;
    std::string reason = model::storable_text(
        permanent ? fmt::format("{}: {}", why.type, why.message) : why.message
    );
    std::vector<Write> writes;
    for (const Message& message : executing.messages)
        writes.push_back(settle_write(
            permanent ? WriteKind::bury : WriteKind::fail,
            message.lease(),
            std::max(why.delay.value_or(backoff(message)), Duration::zero()),
            reason
        ));
    backend_.log().info(fmt::format(
        "a handler of queue '{}' failed {} messages: {}",
        executing.spec->queue,
        writes.size(),
        reason
    ));
    return writes;
}

Duration Executor::backoff(const Message& message) const {
    return model::backoff(
        message.attempts, options_.backoff_base, options_.backoff_cap, base::random_fraction()
    );
}

}  // namespace pawl::runtime
