#include "runtime/executor.h"

#include <algorithm>
#include <fmt/format.h>
#include <random>

#include "model/check.h"
#include "model/retry.h"

namespace pawl::runtime {

using store::Write;
using store::WriteKind;
using store::WriteOutcome;
using store::WriteStatus;

namespace {

constexpr double fetch_ahead_seconds = 0.05;
constexpr int max_fetch_ahead = 1'000;
constexpr Duration measure_every = 10ms;

double random_fraction() {
    thread_local std::mt19937_64 generator{std::random_device{}()};
    return std::uniform_real_distribution<double>(0, 1)(generator);
}

}  // namespace

Executor::Executor(
    const WorkerOptions& options, Committer& committer, LeaseTable& leases, base::Log log
)
    : options_(options), committer_(committer), leases_(leases), log_(std::move(log)) {
    for (int i = 0; i < options.concurrency; ++i)
        threads_.emplace_back([this](const std::stop_token& stop) { work(stop); });
}

Executor::~Executor() {
    for (auto& thread : threads_) thread.request_stop();
    threads_.clear();
}

void Executor::push(std::vector<std::shared_ptr<Executing>> work) {
    {
        const std::lock_guard lock(mutex_);
        for (auto& executing : work) queued_.push_back(std::move(executing));
    }
    changed_.notify_all();
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
    const int free = capacity - static_cast<int>(queued_.size() + running_.size());
    // Where handlers are fast, few large claims beat many small ones.
    return free * 2 > ahead ? free : 0;
}

int Executor::wait_for_room(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    int free = 0;
    changed_.wait(lock, stop, [&] { return (free = room()) > 0; });
    return stop.stop_requested() ? 0 : free;
}

bool Executor::wait_until_idle(Clock::time_point deadline, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    return changed_.wait_until(lock, stop, deadline, [&] {
        return queued_.empty() && running_.empty();
    });
}

std::vector<std::shared_ptr<Executing>> Executor::take_unstarted() {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<Executing>> unstarted(queued_.begin(), queued_.end());
    queued_.clear();
    return unstarted;
}

std::vector<std::shared_ptr<Executing>> Executor::abandon() {
    std::vector<std::shared_ptr<Executing>> running;
    {
        const std::lock_guard lock(mutex_);
        running.assign(running_.begin(), running_.end());
    }
    for (const auto& executing : running) executing->stop.request_stop();
    return running;
}

void Executor::work(const std::stop_token& stop) {
    while (true) {
        std::shared_ptr<Executing> executing;
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, stop, [&] { return !queued_.empty(); });
            if (stop.stop_requested()) return;
            executing = std::move(queued_.front());
            queued_.pop_front();
            running_.insert(executing);
        }
        run(executing);
        finished(executing);
    }
}

void Executor::finished(const std::shared_ptr<Executing>& executing) {
    {
        const std::lock_guard lock(mutex_);
        running_.erase(executing);
        ++finished_;
    }
    changed_.notify_all();
}

void Executor::run(const std::shared_ptr<Executing>& executing) {
    std::vector<Write> writes;
    if (leases_.assign(executing) == 0) {
        // Too late to start: somebody else has them. Forgetting them is all that is left to do.
        for (const Message& message : executing->messages)
            writes.push_back({WriteKind::hand_back, message.lease(), {}, {}});
    } else {
        writes = report(*executing);
    }
    // The committer outlives the executor: its callback may not lean on us.
    committer_.submit(
        std::move(writes),
        [&leases = leases_,
         log = log_,
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
            writes.push_back({WriteKind::archive, executing.messages[i].lease(), {}, {}});
        }
    }
    return writes;
}

std::vector<Write> Executor::failure(const Executing& executing, const std::exception_ptr& thrown) {
    WriteKind kind = WriteKind::fail;
    std::optional<Duration> delay;
    std::string reason;
    try {
        std::rethrow_exception(thrown);
    } catch (const PermanentError& error) {
        kind = WriteKind::bury;
        reason = std::string("permanent: ") + error.what();
    } catch (const TransientError& error) {
        delay = error.retry_after();
        reason = error.what();
    } catch (const std::exception& error) {
        reason = error.what();
    } catch (...) {
        reason = "an exception that is no std::exception";
    }
    reason = model::storable_text(reason);
    std::vector<Write> writes;
    for (const Message& message : executing.messages) {
        writes.push_back(
            {kind,
             message.lease(),
             std::max(delay.value_or(backoff(message)), Duration::zero()),
             reason}
        );
    }
    log_.info(fmt::format(
        "a handler of queue '{}' failed {} messages: {}",
        executing.spec->queue,
        writes.size(),
        reason
    ));
    return writes;
}

Duration Executor::backoff(const Message& message) const {
    return model::backoff(
        message.attempts, options_.backoff_base, options_.backoff_cap, random_fraction()
    );
}

}  // namespace pawl::runtime
