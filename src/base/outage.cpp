#include "base/outage.h"

#include <fmt/format.h>
#include <pawl/error.h>

namespace pawl::base {

namespace {
double seconds(Outage::Clock::duration time) {
    return std::chrono::duration<double>(time).count();
}
}  // namespace

// A service that stops while it fails does not end the outage: the next one that succeeds does.
Outage::Reporter::~Reporter() {
    if (!failing_) return;
    const std::lock_guard lock(outage_.mutex_);
    --outage_.failing_;
}

bool Outage::Reporter::failed(const std::exception& error, Clock::time_point now) {
    const auto* const known = dynamic_cast<const Error*>(&error);
    if (known == nullptr || !known->retryable()) return false;
    if (of_ == Of::calls) outage_.last_failure_ = now;
    outage_.note_failure(!failing_, error.what(), now);
    failing_ = true;
    return true;
}

void Outage::Reporter::succeeded(Clock::time_point now) {
    const bool counts = failing_ || of_ == Of::calls;
    if (!counts || (!failing_ && !outage_.away_.load(std::memory_order_relaxed))) return;
    outage_.note_success(failing_, now == Clock::time_point{} ? Clock::now() : now);
    failing_ = false;
}

void Outage::note_failure(bool first, std::string_view error, Clock::time_point now) {
    const std::lock_guard lock(mutex_);
    if (first) ++failing_;
    if (!began_) {
        began_ = logged_ = now;
        away_ = true;
        log_.warning(fmt::format("database does not answer, retrying: {}", error));
    } else if (now - logged_ >= repeat_every) {
        logged_ = now;
        log_.warning(fmt::format(
            "database has not answered for {:.1f} s, retrying: {}", seconds(now - *began_), error
        ));
    }
}

void Outage::note_success(bool had_failed, Clock::time_point now) {
    const std::lock_guard lock(mutex_);
    if (had_failed) --failing_;
    if (failing_ > 0 || !began_) return;
    log_.info(fmt::format("connected again after {:.1f} s", seconds(now - *began_)));
    began_.reset();
    away_ = false;
}

}  // namespace pawl::base
