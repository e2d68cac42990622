#include "postgres/driver/notifier.h"

#include <fmt/format.h>

#include "generated/postgres_sql.h"
#include "postgres/driver/wake_payload.h"

namespace pawl::postgres {

namespace {
constexpr auto gathering_time = 2ms;
constexpr auto quiet_time = 1ms;
constexpr Duration longest_call = 10s;
}  // namespace

Notifier::~Notifier() {
    if (!thread_.joinable()) return;
    thread_.request_stop();
    thread_.join();
}

Wake Notifier::next() {
    const auto now = std::chrono::steady_clock::now();
    const std::lock_guard lock(mutex_);
    const bool quiet = now - std::exchange(last_, now) >= quiet_time;
    return quiet ? Wake::in_transaction : Wake::after_commit;
}

void Notifier::wake(const std::optional<seam::WakeTopic>& topic) {
    add(wake_payload(topic));
}

void Notifier::run_ended(RunId run) {
    add(fmt::format("run:{}", run.value()));
}

void Notifier::add(std::string payload) {
    {
        const std::lock_guard lock(mutex_);
        pending_.insert(std::move(payload));
        if (!thread_.joinable())
            thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
    }
    changed_.notify_one();
}

void Notifier::work(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait(lock, stop, [&] { return !pending_.empty(); });
        if (pending_.empty()) return;  // stop requested, and everything is sent
        const auto payloads = std::exchange(pending_, {});
        lock.unlock();
        send(payloads);
        lock.lock();
        // The first notification is sent immediately; the next ones are collected.
        changed_.wait_for(lock, stop, gathering_time, [] { return false; });
    }
}

void Notifier::send(const std::set<std::string>& payloads) {
    try {
        std::vector<Params> params(payloads.size());
        std::vector<Call> calls;
        std::size_t i = 0;
        for (const std::string& payload : payloads) {
            params[i].text(payload);
            calls.push_back({sql::notify, params[i]});
            ++i;
        }
        pool_.lend(longest_call)->run(calls, IfAnswerLost::repeat);
    } catch (const std::exception& error) {
        log_.debug(fmt::format(
            "a wake-up was not sent, workers find the work by polling: {}", error.what()
        ));
    }
}

}  // namespace pawl::postgres
