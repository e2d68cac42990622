// Delivers the outbox: its threads take lines (the events of one aggregate, in order) and call the
// sink for one event after the other. A thread that finds no line claims more, so that a slow
// aggregate does not delay the others. An OutboxReporter writes the results.
//
// If the process crashes between a delivery and its report, or the delivery takes longer than the
// lease, the event is delivered again when the lease expires, with the same event_id.
//
// More events of a line can be claimed only after the report about the previous ones. So each
// report that ends a line makes the dispatcher claim again without waiting for its poll interval.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <pawl/outbox.h>
#include <stop_token>
#include <thread>
#include <vector>

#include "runtime/services/outbox_reporter.h"
#include "seam/engine.h"

namespace pawl::runtime {

struct WorkerMeters;

class OutboxDispatcher {
public:
    // Throws invalid_argument, test_clock.
    OutboxDispatcher(
        std::shared_ptr<seam::Engine> backend,
        Sink sink,
        DispatcherOptions options,
        WorkerMeters* meters = nullptr
    );
    ~OutboxDispatcher();
    OutboxDispatcher(const OutboxDispatcher&) = delete;
    OutboxDispatcher& operator=(const OutboxDispatcher&) = delete;

    // All are idempotent. A stopped dispatcher can be started again.
    void start();
    void request_stop();  // returns immediately; no delivery begins anymore
    // Waits for deliveries in progress and releases the other events. Only requests the stop if the
    // sink calls it.
    void stop();
    // Returns the number of delivered events when nothing is due. Throws the store's errors.
    int dispatch_once();

private:
    using Clock = std::chrono::steady_clock;
    enum class Mode { once, forever };
    struct Line {
        std::vector<seam::OutboxDelivery> events;
        // No delivery begins later, because it might outlive the lease.
        Clock::time_point start_until;
    };
    // State shared by the threads of one start() or one dispatch_once().
    struct Shift {
        Shift(Mode how, const OutboxDispatcher& dispatcher);
        const Mode mode;
        std::stop_source stopping;  // in Mode::forever
        std::mutex mutex;
        std::condition_variable_any changed;
        std::deque<Line> lines;
        int in_hand = 0;        // lines being delivered or reported
        bool freed = false;     // a line has ended since the last claim began
        bool claiming = false;  // by one thread at a time
        bool over = false;      // in Mode::once: nothing is due
        int delivered = 0;
        std::exception_ptr failure;  // in Mode::once
        OutboxReporter reporter;     // last, because its thread uses the others
    };

    void work(Shift& shift, const std::stop_token& stop);
    void claim(Shift& shift, const std::stop_token& stop);
    void claim_when_due(Shift& shift, const std::stop_token& stop);
    void claim_rest(Shift& shift);
    // Adds claimed events to the shift's lines. Returns when to claim again.
    std::optional<Duration> claim_lines(Shift& shift);
    void deliver(Shift& shift, Line line, const std::stop_token& stop);
    [[nodiscard]] SinkResult call_sink(const OutboxEvent& event) const;
    [[nodiscard]] seam::OutboxReport to_report(
        const seam::OutboxDelivery& delivery, const SinkResult& result
    ) const;
    [[nodiscard]] seam::OutboxReport send(const seam::OutboxDelivery& delivery) const;
    void count(const seam::OutboxReport& report) const;
    void log_failure(const OutboxEvent& event, const seam::OutboxReport& report) const;

    const std::shared_ptr<seam::Engine> backend_;
    const Sink sink_;
    const DispatcherOptions options_;
    WorkerMeters* const meters_;  // null unless metrics are enabled

    std::mutex lifecycle_;
    std::unique_ptr<Shift> shift_;
    std::vector<std::jthread> threads_;
};

}  // namespace pawl::runtime
