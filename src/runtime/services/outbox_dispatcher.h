// Delivers the outbox: its threads take lines (the events of one aggregate, in order) and call the
// sink for one event after the other. A thread that finds no line left claims more, so that a slow
// aggregate does not hold up the others. An OutboxReporter writes the results.
//
// If the process dies between a delivery and its report, the event is delivered again when the
// lease expires, with the same event_id. The same goes for a delivery that takes longer than the
// lease.
//
// The rest of a line can be claimed only after the report of what was claimed before. So each
// report that ends a line makes the dispatcher claim again, without waiting for its poll interval.
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

    // All idempotent; a stopped one may be started again.
    void start();
    void request_stop();  // returns at once: no delivery begins any more
    void stop();          // waits for those under way, gives the rest back
    // Returns when nothing is due any more; how many were delivered. Throws what the store throws.
    int dispatch_once();

private:
    using Clock = std::chrono::steady_clock;
    enum class Mode { once, forever };
    struct Line {
        std::vector<seam::OutboxDelivery> events;
        Clock::time_point start_until;  // no delivery begins later: it might outlive the lease
    };
    // One start() or one dispatch_once(): what its threads share.
    struct Shift {
        Shift(Mode how, const OutboxDispatcher& dispatcher);
        const Mode mode;
        std::mutex mutex;
        std::condition_variable_any changed;
        std::deque<Line> lines;
        int in_hand = 0;        // lines that are being delivered or reported
        bool freed = false;     // a line has ended since the last claim began
        bool claiming = false;  // by one thread at a time
        bool over = false;      // of Mode::once: nothing is due any more
        int delivered = 0;
        std::exception_ptr failure;  // of Mode::once
        OutboxReporter reporter;     // last: its thread uses the others
    };

    void work(Shift& shift, const std::stop_token& stop);
    void claim(Shift& shift, const std::stop_token& stop);
    void claim_when_due(Shift& shift, const std::stop_token& stop);
    void claim_rest(Shift& shift);
    // Adds what it gets to the shift's lines. Returns after how long to look again.
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
    WorkerMeters* const meters_;  // null: nobody measures

    std::mutex lifecycle_;
    std::unique_ptr<Shift> shift_;
    std::vector<std::jthread> threads_;
};

}  // namespace pawl::runtime
