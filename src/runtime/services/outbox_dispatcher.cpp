#include "runtime/services/outbox_dispatcher.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <utility>

#include "base/random.h"
#include "engine/reconnect.h"
#include "model/backoff.h"
#include "model/check.h"
#include "model/check_outbox.h"
#include "runtime/metrics/meters.h"
#include "runtime/sleep_until_stop.h"

namespace pawl::runtime {

using seam::OutboxDelivery;
using seam::OutboxReport;

namespace {

constexpr Duration dispatch_without_notify = 500ms;  // if other processes cannot wake this one
// On SQLite every commit of another process is a wake-up.
constexpr Duration dispatch_at_most_every = 20ms;

constexpr std::array outbox_wakes{seam::outbox_changed};

// Set in the threads that start() creates.
thread_local const OutboxDispatcher* dispatcher_of_thread = nullptr;

bool same_line(const OutboxDelivery& one, const OutboxDelivery& other) {
    return !one.event.aggregate.empty() && one.event.aggregate == other.event.aggregate;
}

OutboxReport given_back(const OutboxDelivery& delivery) {
    return {delivery.event.id, delivery.delivery, OutboxReport::Kind::release, {}, {}};
}

}  // namespace

OutboxDispatcher::Shift::Shift(Mode how, const OutboxDispatcher& dispatcher)
    : mode(how),
      reporter(
          dispatcher.backend_,
          dispatcher.options_.lease,
          static_cast<std::size_t>(dispatcher.options_.batch),
          [this](int ended) {
              const std::lock_guard lock(mutex);
              in_hand -= ended;
              freed = true;
              changed.notify_all();
          }
      ) {}

OutboxDispatcher::OutboxDispatcher(
    std::shared_ptr<seam::Engine> backend,
    Sink sink,
    DispatcherOptions options,
    WorkerMeters* meters
)
    : backend_(std::move(backend)), sink_(std::move(sink)), options_(options), meters_(meters) {
    if (!sink_) throw Error(ErrorCode::invalid_argument, "a dispatcher needs a sink");
    model::check_dispatcher_options(options_);
    if (!backend_->options().accept_test_clock && backend_->has_test_clock())
        throw Error(
            ErrorCode::test_clock,
            "dispatcher: the store's clock is replaced by a test clock; set "
            "ConnectOptions::accept_test_clock in tests"
        );
}

OutboxDispatcher::~OutboxDispatcher() {
    stop();
}

void OutboxDispatcher::start() {
    const std::lock_guard lock(lifecycle_);
    if (!threads_.empty()) return;
    shift_ = std::make_unique<Shift>(Mode::forever, *this);
    for (int i = 0; i < options_.concurrency; ++i)
        threads_.emplace_back([this, &shift = *shift_] {
            dispatcher_of_thread = this;
            work(shift, shift.stopping.get_token());
        });
}

void OutboxDispatcher::request_stop() {
    const std::lock_guard lock(lifecycle_);
    if (shift_) shift_->stopping.request_stop();
}

void OutboxDispatcher::stop() {
    if (dispatcher_of_thread == this) {  // the sink calls: a thread cannot join itself
        shift_->stopping.request_stop();
        return;
    }
    const std::lock_guard lock(lifecycle_);
    if (!shift_) return;
    shift_->stopping.request_stop();
    threads_.clear();  // joins
    for (Line& line : shift_->lines) {
        std::vector<OutboxReport> unsent;
        for (const OutboxDelivery& delivery : line.events) unsent.push_back(given_back(delivery));
        shift_->reporter.add(std::move(unsent), OutboxReporter::Line::continues);
    }
    shift_.reset();  // its destructor writes the reports
}

int OutboxDispatcher::dispatch_once() {
    Shift shift(Mode::once, *this);
    {
        std::vector<std::jthread> others;
        for (int i = 1; i < options_.concurrency; ++i)
            others.emplace_back([&](const std::stop_token& stop) { work(shift, stop); });
        work(shift, {});
        for (std::jthread& other : others) other.join();
    }
    if (shift.failure) std::rethrow_exception(shift.failure);
    return shift.delivered;
}

void OutboxDispatcher::work(Shift& shift, const std::stop_token& stop) {
    std::unique_lock lock(shift.mutex);
    while (!stop.stop_requested() && !shift.over) {
        if (!shift.lines.empty()) {
            Line line = std::move(shift.lines.front());
            shift.lines.pop_front();
            ++shift.in_hand;
            lock.unlock();
            deliver(shift, std::move(line), stop);
            lock.lock();
        } else if (!shift.claiming) {
            shift.claiming = true;
            lock.unlock();
            claim(shift, stop);
            lock.lock();
            shift.claiming = false;
            shift.changed.notify_all();
        } else {
            shift.changed.wait(lock, stop, [&] {
                return !shift.lines.empty() || !shift.claiming || shift.over;
            });
        }
    }
}

void OutboxDispatcher::claim(Shift& shift, const std::stop_token& stop) {
    if (shift.mode == Mode::forever) {
        claim_when_due(shift, stop);
        return;
    }
    try {
        claim_rest(shift);
    } catch (...) {
        const std::lock_guard lock(shift.mutex);
        shift.failure = std::current_exception();
        shift.over = true;
    }
}

// Claims until there are lines.
void OutboxDispatcher::claim_when_due(Shift& shift, const std::stop_token& stop) {
    seam::WakeHub& hub = backend_->wake_hub();
    base::Outage::Reporter outage(backend_->outage());
    while (!stop.stop_requested()) {
        const auto ticket = hub.ticket();
        const auto claimed_at = Clock::now();
        {
            const std::lock_guard lock(shift.mutex);
            shift.freed = false;
        }
        Duration pause = options_.poll_interval;
        if (!backend_->capabilities().remote_wakeups)
            pause = std::min(pause, dispatch_without_notify);
        try {
            const auto next_due = claim_lines(shift);
            outage.succeeded();
            const std::lock_guard lock(shift.mutex);
            if (!shift.lines.empty()) return;
            if (next_due) pause = std::min(pause, *next_due);
        } catch (const std::exception& error) {
            if (!outage.failed(error))
                backend_->log().warning(
                    fmt::format("claim of outbox events failed, retrying: {}", error.what())
                );
            pause = pause_after_error;
        }
        if (pause <= Duration::zero()) continue;
        const auto until = Clock::now() + pause;
        if (!hub.wait(ticket, outbox_wakes, until, stop)) continue;
        std::unique_lock lock(shift.mutex);
        shift.changed.wait_until(
            lock,
            stop,
            std::min(claimed_at + dispatch_at_most_every, until),
            [&] { return shift.freed; }
        );
    }
}

// Claims until there are lines, or nothing is due and no line is being delivered.
void OutboxDispatcher::claim_rest(Shift& shift) {
    while (true) {
        int in_hand = 0;
        {
            const std::lock_guard lock(shift.mutex);
            in_hand = shift.in_hand;
        }
        const auto next_due = engine::retrying(*backend_, [&] { return claim_lines(shift); });
        std::unique_lock lock(shift.mutex);
        if (!shift.lines.empty()) return;
        // Not all aggregates were searched.
        if (next_due && *next_due <= Duration::zero()) continue;
        shift.over = in_hand == 0;
        if (shift.over) return;
        // A line in delivery may have more events: claim again when it has ended.
        shift.changed.wait(lock, [&] { return shift.in_hand < in_hand; });
    }
}

std::optional<Duration> OutboxDispatcher::claim_lines(Shift& shift) {
    const auto asked_at = Clock::now();
    // One line may use the whole batch; the other threads claim for themselves.
    seam::OutboxClaim claim =
        backend_->claim_outbox(options_.batch, options_.batch, options_.lease);
    const std::lock_guard lock(shift.mutex);
    for (OutboxDelivery& delivery : claim.events) {
        if (shift.lines.empty() || !same_line(shift.lines.back().events.back(), delivery))
            shift.lines.push_back({{}, asked_at + options_.lease / 2});
        shift.lines.back().events.push_back(std::move(delivery));
    }
    if (!claim.next_due) return std::nullopt;
    return std::chrono::ceil<Duration>(*claim.next_due - claim.now);
}

void OutboxDispatcher::deliver(Shift& shift, Line line, const std::stop_token& stop) {
    std::vector<OutboxReport> unsent;
    bool continues = true;
    for (const OutboxDelivery& delivery : line.events) {
        continues = continues && !stop.stop_requested() && Clock::now() < line.start_until;
        if (!continues) {
            unsent.push_back(given_back(delivery));
            continue;
        }
        const OutboxReport report = send(delivery);
        if (report.kind == OutboxReport::Kind::published) {
            const std::lock_guard lock(shift.mutex);
            ++shift.delivered;
        } else {
            log_failure(delivery.event, report);
        }
        // Later events of the line wait for one that is retried. They are released in the same
        // report: no claim may find the first one waiting and the others still leased.
        continues = report.kind != OutboxReport::Kind::retry;
        unsent.push_back(report);
        if (continues && &delivery != &line.events.back())
            shift.reporter.add(std::exchange(unsent, {}), OutboxReporter::Line::continues);
    }
    shift.reporter.add(std::move(unsent), OutboxReporter::Line::ends);
}

OutboxReport OutboxDispatcher::send(const OutboxDelivery& delivery) const {
    if (meters_ == nullptr) return to_report(delivery, call_sink(delivery.event));
    const auto began_at = Clock::now();
    OutboxReport report = to_report(delivery, call_sink(delivery.event));
    meters_->delivery_duration.observe(
        std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - began_at)
    );
    count(report);
    return report;
}

void OutboxDispatcher::count(const OutboxReport& report) const {
    switch (report.kind) {
        case OutboxReport::Kind::published:
            return meters_->events_published.add();
        case OutboxReport::Kind::retry:
            return meters_->events_retried.add();
        case OutboxReport::Kind::park:
            return meters_->events_parked.add();
        case OutboxReport::Kind::release:
            return;
    }
}

SinkResult OutboxDispatcher::call_sink(const OutboxEvent& event) const {
    try {
        return sink_(event);
    } catch (const std::exception& error) {
        return {SinkResult::Kind::retry, error.what(), {}};
    } catch (...) {
        return {
            SinkResult::Kind::retry,
            "the sink threw an exception that is not a std::exception",
            {}};
    }
}

OutboxReport OutboxDispatcher::to_report(const OutboxDelivery& delivery, const SinkResult& result)
    const {
    OutboxReport report{delivery.event.id, delivery.delivery, {}, {}, {}};
    report.error = model::storable_text(result.error);
    switch (result.kind) {
        case SinkResult::Kind::delivered:
            report.kind = OutboxReport::Kind::published;
            return report;
        case SinkResult::Kind::reject:
            report.kind = OutboxReport::Kind::park;
            return report;
        case SinkResult::Kind::retry:
            break;
    }
    report.kind = delivery.event.attempts >= options_.max_attempts ? OutboxReport::Kind::park
                                                                   : OutboxReport::Kind::retry;
    const Duration backoff = model::backoff(
        delivery.event.attempts - 1,
        options_.backoff_base,
        options_.backoff_cap,
        base::random_fraction()
    );
    report.delay = std::max(result.retry_after.value_or(backoff), Duration::zero());
    return report;
}

void OutboxDispatcher::log_failure(const OutboxEvent& event, const OutboxReport& report) const {
    if (report.kind == OutboxReport::Kind::park) {
        backend_->log().error(fmt::format(
            "outbox event {} ({}) is parked after {} attempts: {}",
            event.id,
            event.type,
            event.attempts,
            report.error
        ));
    } else {
        backend_->log().info(fmt::format(
            "outbox event {} ({}) failed, next retry in {} ms: {}",
            event.id,
            event.type,
            report.delay.count(),
            report.error
        ));
    }
}

}  // namespace pawl::runtime
