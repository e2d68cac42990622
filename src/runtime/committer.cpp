#include "runtime/committer.h"

#include <algorithm>
#include <fmt/format.h>

#include "runtime/metrics/meters.h"

namespace pawl::runtime {

using seam::Attempt;
using seam::Write;
using seam::WriteOutcome;
using seam::WriteStatus;

namespace {
constexpr std::size_t wake_chains = 2;
constexpr std::size_t max_batch = 2'000;
constexpr std::size_t max_batch_bytes = 16 << 20;  // except for a single write
constexpr std::size_t max_pending = 20'000;
constexpr Duration busy_pause = 2ms;
constexpr Duration longest_busy_pause = 100ms;
// A gathered batch is sent after this time even if its thread still resumes fibers.
constexpr Duration longest_gathering = 1ms;
constexpr std::size_t gathered_enough = 500;
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): each thread has its own
thread_local bool on_lane = false;

// Not subject to back pressure: at most one per held lease, and a worker that stops must not wait.
bool returns_lease(const Write& write) {
    return write.is<seam::Release, seam::HandBack>();
}
}  // namespace

Committer::Committer(seam::Engine& backend, WorkerMeters* meters)
    : backend_(backend), meters_(meters) {
    for (std::size_t i = 0; i < backend.capabilities().parallel_commits; ++i)
        lanes_.emplace_back([this] { work(stop_.get_token()); });
}

Committer::~Committer() {
    stop();
}

void Committer::stop() {
    stop_.request_stop();
    lanes_.clear();
    std::unique_lock lock(mutex_);
    Items left(std::make_move_iterator(pending_.begin()), std::make_move_iterator(pending_.end()));
    pending_.clear();
    lock.unlock();
    give_up(std::move(left));
}

void Committer::submit(std::vector<Write> writes, Callback then) {
    const Send when = base::Fiber::current() != nullptr ? Send::gathered : Send::now;
    submit(std::move(writes), std::move(then), when);
}

void Committer::submit_unbounded(std::vector<Write> writes, Callback then) {
    submit(std::move(writes), std::move(then), Send::unbounded);
}

void Committer::submit(std::vector<Write> writes, Callback then, Send when) {
    if (writes.empty()) return;
    const auto submission = std::make_shared<Submission>();
    submission->stored = std::move(writes);
    submission->writes = submission->stored;
    submission->then = std::move(then);
    send(items_of(submission), when);
}

void Committer::submit_idle(std::vector<Write> writes, Callback then) {
    if (writes.size() == 1) {
        if (const auto outcome = commit_here(writes.front()))
            return then(writes, std::span(&*outcome, 1));
    }
    submit(std::move(writes), std::move(then));
}

WriteOutcome Committer::commit_one(const Write& write, Wait wait) {
    const bool parks = wait == Wait::park && base::Fiber::current() != nullptr;
    if (!parks) {
        if (auto outcome = commit_here(write)) return std::move(*outcome);
    }
    const auto submission = std::make_shared<Submission>();
    submission->writes = std::span(&write, 1);
    submission->has_waiter = true;
    if (parks) {
        base::Fiber::park([this, &submission](std::unique_ptr<base::Fiber> self) {
            submission->fiber = std::move(self);
            send(items_of(submission), Send::gathered);
        });
    } else {
        send(items_of(submission), Send::now);
        submission->committed.wait();
        if (const auto next = std::move(submission->next)) next->committed.open();
    }
    return std::move(submission->outcomes.front());
}

// If nothing else is pending, the waiter commits the write itself, which saves two thread switches.
// Returns nullopt if that gives no final outcome.
std::optional<WriteOutcome> Committer::commit_here(const Write& write) {
    {
        const std::lock_guard lock(mutex_);
        if (!pending_.empty() || in_flight_ > 0 || stop_.stop_requested()) return std::nullopt;
        ++in_flight_;
    }
    const Write* const batch = &write;
    auto outcomes = commit(seam::Writes(&batch, 1), stop_.get_token());
    {
        const std::lock_guard lock(mutex_);
        --in_flight_;
        if (waiting_for_room_ > 0) room_.notify_all();
    }
    if (outcomes.empty() || outcomes.front().status == WriteStatus::busy) return std::nullopt;
    return std::move(outcomes.front());
}

Committer::Items Committer::items_of(const std::shared_ptr<Submission>& submission) {
    submission->open = submission->writes.size();
    submission->outcomes.resize(submission->writes.size());
    Items items(submission->writes.size());
    for (std::size_t i = 0; i < items.size(); ++i)
        items[i] = {submission, i, seam::bytes_of(submission->writes[i])};
    return items;
}

void Committer::send(Items items, Send when) {
    if (!enqueue(items, when)) give_up(std::move(items));
}

void Committer::send_gathered() {
    {
        const std::lock_guard lock(mutex_);
        if (pending_.empty() || due_) return;
        due_ = true;
    }
    work_.notify_one();
}

// Hundreds of threads may wait for one commit. Each wakes the next, which spreads the wake-ups over
// the processors, mostly without inter-processor interrupts.
void Committer::wake(std::span<const std::shared_ptr<Submission>> waiters) {
    for (std::size_t i = wake_chains; i < waiters.size(); ++i)
        waiters[i - wake_chains]->next = waiters[i];
    for (const auto& waiter : waiters.first(std::min(wake_chains, waiters.size())))
        waiter->committed.open();
}

// Returns false, with the items untouched, if the committer has stopped.
bool Committer::enqueue(Items& items, Send when) {
    bool wakes_lane = false;
    {
        std::unique_lock lock(mutex_);
        // A submission from a callback must not wait: only this thread could make room.
        const bool waits =
            when != Send::unbounded && !on_lane && !returns_lease(items.front().write());
        if (waits && pending_.size() >= max_pending) {
            ++waiting_for_room_;
            room_.wait(lock, stop_.get_token(), [&] { return pending_.size() < max_pending; });
            --waiting_for_room_;
        }
        if (stop_.stop_requested()) return false;
        const bool first = pending_.empty();
        pending_.insert(
            pending_.end(),
            std::make_move_iterator(items.begin()),
            std::make_move_iterator(items.end())
        );
        if (only_busy_left_) pause_.notify_all();
        only_busy_left_ = false;
        if (when != Send::gathered || pending_.size() >= gathered_enough) due_ = true;
        wakes_lane = first || due_;
    }
    if (wakes_lane) work_.notify_one();
    return true;
}

bool Committer::flush(std::chrono::steady_clock::time_point deadline) {
    std::unique_lock lock(mutex_);
    ++waiting_for_room_;
    const bool empty =
        room_.wait_until(lock, deadline, [&] { return pending_.empty() && in_flight_ == 0; });
    --waiting_for_room_;
    return empty;
}

Committer::Items Committer::take(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    do {  // the other lane may take all items while this one waits
        work_.wait(lock, stop, [&] { return !pending_.empty(); });
        if (!due_) work_.wait_for(lock, stop, longest_gathering, [&] { return due_; });
        if (stop.stop_requested()) return {};
    } while (pending_.empty());
    std::size_t count = 0;
    std::size_t bytes = 0;
    while (count < std::min(pending_.size(), max_batch)) {
        bytes += pending_[count].bytes;
        if (count > 0 && bytes > max_batch_bytes) break;
        ++count;
    }
    const auto end = pending_.begin() + static_cast<std::ptrdiff_t>(count);
    Items items(std::make_move_iterator(pending_.begin()), std::make_move_iterator(end));
    pending_.erase(pending_.begin(), end);
    if (pending_.empty()) due_ = false;
    in_flight_ += items.size();
    return items;
}

void Committer::work(const std::stop_token& stop) {
    on_lane = true;
    Duration busy = busy_pause;
    while (!stop.stop_requested()) {
        Items items = take(stop);
        if (items.empty()) return;
        std::vector<const Write*> writes;
        writes.reserve(items.size());
        for (const Item& item : items) writes.push_back(&item.write());
        std::vector<WriteOutcome> outcomes = commit(writes, stop);
        if (outcomes.empty()) return give_up(std::move(items));  // the database does not answer
        distribute(std::move(items), std::move(outcomes));
        if (!only_busy_left_) {
            busy = busy_pause;
            continue;
        }
        pause_while_busy(busy, stop);
        busy = std::min(busy * 2, longest_busy_pause);
    }
}

// Retries while the database does not answer. If the outcome of a batch is unknown, it is sent as
// repeated.
std::vector<WriteOutcome> Committer::commit(seam::Writes writes, const std::stop_token& stop) {
    Attempt attempt = Attempt::first;
    Duration wait = 20ms;
    base::Outage::Reporter outage(backend_.outage());
    while (!stop.stop_requested()) {
        try {
            auto outcomes = meters_ == nullptr ? backend_.commit(writes, attempt)
                                               : commit_measured(writes, attempt);
            outage.succeeded();
            return outcomes;
        } catch (const Error& error) {
            if (error.in_doubt()) attempt = Attempt::repeated;
            if (!outage.failed(error))
                backend_.log().warning(fmt::format(
                    "commit of {} writes failed, retrying in {} ms: {}",
                    writes.size(),
                    wait.count(),
                    error.what()
                ));
        } catch (const std::exception& error) {
            backend_.log().error(
                fmt::format("commit of {} writes failed: {}", writes.size(), error.what())
            );
        }
        if (meters_ != nullptr) meters_->commit_errors.add();
        pause(wait, stop);
        wait = std::min<Duration>(wait * 2, 1s);
    }
    return {};
}

std::vector<WriteOutcome> Committer::commit_measured(seam::Writes writes, Attempt attempt) {
    const auto asked_at = std::chrono::steady_clock::now();
    auto outcomes = backend_.commit(writes, attempt);
    meters_->commit_duration.observe(std::chrono::duration_cast<std::chrono::microseconds>(
        std::chrono::steady_clock::now() - asked_at
    ));
    meters_->commit_size.observe(static_cast<std::int64_t>(writes.size()));
    return outcomes;
}

void Committer::give_up(Items items) {
    std::vector<WriteOutcome> outcomes(
        items.size(), {WriteStatus::lease_lost, "the worker has stopped"}
    );
    deliver(std::move(items), outcomes);
}

Committer::Items Committer::deliver(Items items, std::span<WriteOutcome> outcomes) {
    Items busy;
    std::vector<std::shared_ptr<Submission>> waiters;
    std::vector<std::unique_ptr<base::Fiber>> fibers;
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (outcomes[i].status == WriteStatus::busy) {
            busy.push_back(std::move(items[i]));
            continue;
        }
        const auto& submission = items[i].submission;
        submission->outcomes[items[i].index] = std::move(outcomes[i]);
        if (--submission->open > 0) continue;
        if (submission->then) submission->then(submission->writes, submission->outcomes);
        if (!submission->has_waiter) continue;
        if (submission->fiber != nullptr) {
            fibers.push_back(std::move(submission->fiber));
        } else {
            waiters.push_back(submission);
        }
    }
    wake(waiters);
    if (!fibers.empty()) resume_(std::move(fibers));
    return busy;
}

void Committer::distribute(Items items, std::vector<WriteOutcome> outcomes) {
    const std::size_t count = items.size();
    Items busy = deliver(std::move(items), outcomes);
    const std::lock_guard lock(mutex_);
    in_flight_ -= count;
    only_busy_left_ = !busy.empty() && pending_.empty();
    if (!busy.empty()) due_ = true;
    pending_.insert(
        pending_.begin(), std::make_move_iterator(busy.begin()), std::make_move_iterator(busy.end())
    );
    if (waiting_for_room_ > 0) room_.notify_all();
}

void Committer::pause_while_busy(Duration time, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    pause_.wait_for(lock, stop, time, [&] { return !only_busy_left_; });
}

void Committer::pause(Duration time, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    pause_.wait_for(lock, stop, time, [] { return false; });
}

}  // namespace pawl::runtime
