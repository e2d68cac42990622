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
constexpr std::size_t chains = 2;
constexpr std::size_t max_batch = 2'000;
constexpr std::size_t max_batch_bytes = 16 << 20;  // but for a single write
constexpr std::size_t max_pending = 20'000;
constexpr Duration busy_pause = 2ms;
constexpr Duration longest_busy_pause = 100ms;
// What is gathered waits no longer than that, whatever becomes of the thread that gathers it.
constexpr Duration gather_at_most = 1ms;
constexpr std::size_t gather_enough = 500;
thread_local bool on_lane = false;
thread_local bool gathers = false;

// As many of these are pending as there are leases in hand, and a worker that stops must not wait.
bool gives_back(const Write& write) {
    return write.kind == seam::WriteKind::release || write.kind == seam::WriteKind::hand_back;
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
    const std::vector<Item> left(pending_.begin(), pending_.end());
    pending_.clear();
    lock.unlock();
    give_up(left);
}

void Committer::submit(std::vector<Write> writes, Settled settled) {
    if (writes.empty()) return;
    auto submission = std::make_unique<Submission>();
    submission->open = writes.size();
    submission->outcomes.resize(writes.size());
    submission->writes = std::move(writes);
    submission->settled = std::move(settled);
    std::vector<Item> items(submission->writes.size());
    for (std::size_t i = 0; i < items.size(); ++i)
        items[i] = {submission.get(), i, nullptr, seam::bytes_of(submission->writes[i])};
    submission.release();  // by the last settle()
    if (!enqueue(items)) give_up(items);
}

void Committer::submit_idle(std::vector<Write> writes, Settled settled) {
    if (writes.size() == 1) {
        if (const auto outcome = commit_at_once(writes.front()))
            return settled(writes, std::span(&*outcome, 1));
    }
    submit(std::move(writes), std::move(settled));
}

WriteOutcome Committer::commit_one(Write&& write, Wait wait) {
    Awaited awaited;
    awaited.write = std::move(write);
    const Item item{nullptr, 0, &awaited, seam::bytes_of(awaited.write)};
    if (wait == Wait::park && base::Fiber::current() != nullptr) {
        base::Fiber::park([this, &item](std::unique_ptr<base::Fiber> self) {
            item.awaited->fiber = std::move(self);
            send(item);
        });
        return std::move(awaited.outcome);
    }
    if (auto outcome = commit_at_once(awaited.write)) return std::move(*outcome);
    send(item);
    awaited.gate.wait();
    if (awaited.next != nullptr) awaited.next->gate.open();
    return std::move(awaited.outcome);
}

// Where nothing else is to be committed, who waits does it: that saves two changes of threads.
// Nothing where it is not done by that.
std::optional<WriteOutcome> Committer::commit_at_once(const Write& write) {
    {
        const std::lock_guard lock(mutex_);
        if (!pending_.empty() || in_flight_ > 0 || stop_.stop_requested()) return std::nullopt;
        ++in_flight_;
    }
    auto outcomes = commit(std::span(&write, 1), stop_.get_token());
    {
        const std::lock_guard lock(mutex_);
        --in_flight_;
        if (waiting_for_room_ > 0) settled_.notify_all();
    }
    if (outcomes.empty() || outcomes.front().status == WriteStatus::busy) return std::nullopt;
    return std::move(outcomes.front());
}

void Committer::send(const Item& item) {
    const Item copy = item;  // who waits may go on, and with it the item, before this returns
    if (!enqueue(std::span(&copy, 1))) give_up(std::span(&copy, 1));
}

// Hundreds of threads may have waited for one commit. Each of them wakes the next: then the
// wake-ups spread over the processors, mostly without an interrupt from one to another.
void Committer::wake(std::span<Awaited* const> settled) {
    for (std::size_t i = chains; i < settled.size(); ++i) settled[i - chains]->next = settled[i];
    const auto first = settled.first(std::min(chains, settled.size()));
    for (Awaited* awaited : first) awaited->gate.open();
}

// False: the committer has stopped.
bool Committer::enqueue(std::span<const Item> items) {
    bool first = false;
    bool due = false;
    {
        std::unique_lock lock(mutex_);
        // What a callback submits may not wait: only this thread could make room.
        if (pending_.size() >= max_pending && !on_lane && !gives_back(items.front().write())) {
            ++waiting_for_room_;
            settled_.wait(lock, stop_.get_token(), [&] { return pending_.size() < max_pending; });
            --waiting_for_room_;
        }
        if (stop_.stop_requested()) return false;
        first = pending_.empty();
        pending_.insert(pending_.end(), items.begin(), items.end());
        if (only_busy_left_) pause_.notify_all();
        only_busy_left_ = false;
        if (!gathers || pending_.size() >= gather_enough) due_ = true;
        due = due_;
    }
    if (first || due) work_.notify_one();
    return true;
}

void Committer::gather_here() {
    gathers = true;
}

void Committer::send_gathered() {
    {
        const std::lock_guard lock(mutex_);
        if (pending_.empty() || due_) return;
        due_ = true;
    }
    work_.notify_one();
}

bool Committer::flush(std::chrono::steady_clock::time_point deadline) {
    std::unique_lock lock(mutex_);
    ++waiting_for_room_;
    const bool empty =
        settled_.wait_until(lock, deadline, [&] { return pending_.empty() && in_flight_ == 0; });
    --waiting_for_room_;
    return empty;
}

std::vector<Committer::Item> Committer::take(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    do {
        work_.wait(lock, stop, [&] { return !pending_.empty(); });
        if (!due_) work_.wait_for(lock, stop, gather_at_most, [&] { return due_; });
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
    std::vector<Item> items(pending_.begin(), end);
    pending_.erase(pending_.begin(), end);
    if (pending_.empty()) due_ = false;
    in_flight_ += items.size();
    return items;
}

void Committer::work(const std::stop_token& stop) {
    on_lane = true;
    Duration busy = busy_pause;
    while (!stop.stop_requested()) {
        std::vector<Item> items = take(stop);
        if (items.empty()) return;
        std::vector<Write> writes;
        writes.reserve(items.size());
        for (const Item& item : items) writes.push_back(std::move(item.write()));
        std::vector<WriteOutcome> outcomes = commit(writes, stop);
        for (std::size_t i = 0; i < items.size(); ++i) {
            const bool ended =
                i < outcomes.size() && outcomes[i].status != WriteStatus::busy && items[i].awaited;
            if (!ended) items[i].write() = std::move(writes[i]);  // else nobody asks for it again
        }
        if (outcomes.empty()) return give_up(items);  // the database is away
        distribute(std::move(items), std::move(outcomes));
        if (!only_busy_left_) {
            busy = busy_pause;
            continue;
        }
        pause_while_busy(busy, stop);
        busy = std::min(busy * 2, longest_busy_pause);
    }
}

// Keeps trying while the database is away; a batch in doubt is repeated as such.
std::vector<WriteOutcome> Committer::commit(
    std::span<const Write> writes, const std::stop_token& stop
) {
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

std::vector<WriteOutcome> Committer::commit_measured(
    std::span<const Write> writes, Attempt attempt
) {
    const auto asked_at = std::chrono::steady_clock::now();
    auto outcomes = backend_.commit(writes, attempt);
    meters_->commit_duration.observe(std::chrono::duration_cast<std::chrono::microseconds>(
        std::chrono::steady_clock::now() - asked_at
    ));
    meters_->commit_size.observe(static_cast<std::int64_t>(writes.size()));
    return outcomes;
}

void Committer::settle(const Item& item, WriteOutcome outcome) {
    Submission& submission = *item.submission;
    submission.outcomes[item.index] = std::move(outcome);
    if (--submission.open > 0) return;
    const std::unique_ptr<Submission> ended(&submission);
    if (ended->settled) ended->settled(ended->writes, ended->outcomes);
}

void Committer::give_up(std::span<const Item> items) {
    std::vector<WriteOutcome> outcomes(
        items.size(), {WriteStatus::lease_lost, "the worker has stopped"}
    );
    std::vector<Item> none;
    settle_all(items, outcomes, none);
}

void Committer::settle_all(
    std::span<const Item> items, std::span<WriteOutcome> outcomes, std::vector<Item>& busy
) {
    std::vector<Awaited*> at_gates;
    std::vector<std::unique_ptr<base::Fiber>> fibers;
    for (std::size_t i = 0; i < items.size(); ++i) {
        Awaited* const awaited = items[i].awaited;
        if (outcomes[i].status == WriteStatus::busy) {
            busy.push_back(items[i]);
        } else if (awaited == nullptr) {
            settle(items[i], std::move(outcomes[i]));
        } else {
            awaited->outcome = std::move(outcomes[i]);
            if (awaited->fiber != nullptr) {
                fibers.push_back(std::move(awaited->fiber));
            } else {
                at_gates.push_back(awaited);
            }
        }
    }
    wake(at_gates);
    if (!fibers.empty()) resume_(std::move(fibers));
}

void Committer::distribute(std::vector<Item> items, std::vector<WriteOutcome> outcomes) {
    std::vector<Item> busy;
    settle_all(items, outcomes, busy);
    const std::lock_guard lock(mutex_);
    in_flight_ -= items.size();
    only_busy_left_ = !busy.empty() && pending_.empty();
    if (!busy.empty()) due_ = true;
    pending_.insert(pending_.begin(), busy.begin(), busy.end());
    if (waiting_for_room_ > 0) settled_.notify_all();
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
