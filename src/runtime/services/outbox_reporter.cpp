#include "runtime/services/outbox_reporter.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <utility>

#include "engine/reconnect.h"

namespace pawl::runtime {

using seam::OutboxReport;

OutboxReporter::OutboxReporter(
    std::shared_ptr<seam::Engine> backend,
    Duration lease,
    std::size_t max_unwritten,
    std::function<void(int)> lines_ended
)
    : backend_(std::move(backend)),
      lease_(lease),
      max_unwritten_(max_unwritten),
      lines_ended_(std::move(lines_ended)),
      thread_([this](const std::stop_token& stop) { work(stop); }) {}

OutboxReporter::~OutboxReporter() {
    thread_.request_stop();
    thread_.join();
}

void OutboxReporter::add(std::vector<OutboxReport> reports, Line line) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return reports_.size() < max_unwritten_; });
    std::ranges::move(reports, std::back_inserter(reports_));
    if (line == Line::ends) ++ended_;
    changed_.notify_all();
}

void OutboxReporter::work(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait(lock, stop, [&] { return !reports_.empty() || ended_ > 0; });
        if (reports_.empty() && ended_ == 0) return;
        const auto together = std::exchange(reports_, {});
        const int ended = std::exchange(ended_, 0);
        changed_.notify_all();
        lock.unlock();
        if (!together.empty()) write(together);
        if (ended > 0) lines_ended_(ended);
        lock.lock();
    }
}

// Reports are idempotent, so they are repeated. If a report cannot be written, the events are
// delivered again when their lease expires.
void OutboxReporter::write(const std::vector<OutboxReport>& reports) {
    engine::Retry retry(*backend_);
    bool repeated = false;
    while (true) {
        try {
            const auto outcomes = backend_->report_outbox(reports);
            const auto lost = std::ranges::count(outcomes, seam::WriteStatus::lease_lost);
            if (lost > 0 && !repeated)
                backend_->log().warning(fmt::format(
                    "{} outbox events took longer than the dispatcher's lease of {} ms and may be "
                    "delivered twice",
                    lost,
                    lease_.count()
                ));
            return;
        } catch (const Error& error) {
            repeated = repeated || error.in_doubt();
            if (error.retryable() && retry.wait(error)) continue;
            backend_->log().error(fmt::format(
                "cannot report {} outbox events, they will be delivered again: {}",
                reports.size(),
                error.what()
            ));
            return;
        }
    }
}

}  // namespace pawl::runtime
