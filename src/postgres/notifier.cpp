#include "postgres/notifier.h"

#include <fmt/format.h>

#include "generated/postgres_sql.h"

namespace pawl::postgres {

namespace {
constexpr auto gathering_time = 2ms;
}

Notifier::~Notifier() {
    if (!thread_.joinable()) return;
    thread_.request_stop();
    thread_.join();
}

void Notifier::wake(QueueId queue) {
    {
        const std::lock_guard lock(mutex_);
        pending_.insert(queue);
        if (!thread_.joinable())
            thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
    }
    changed_.notify_one();
}

void Notifier::work(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait(lock, stop, [&] { return !pending_.empty(); });
        if (pending_.empty()) return;  // asked to stop, and all is sent
        const auto queues = std::exchange(pending_, {});
        lock.unlock();
        send(queues);
        lock.lock();
        // The first goes out at once; the next ones gather.
        changed_.wait_for(lock, stop, gathering_time, [] { return false; });
    }
}

void Notifier::send(const std::set<QueueId>& queues) {
    try {
        std::vector<Params> params(queues.size());
        std::vector<Call> calls;
        std::size_t i = 0;
        for (const QueueId queue : queues) {
            params[i].text(queue ? std::to_string(queue.value()) : "");
            calls.push_back({sql::notify, params[i]});
            ++i;
        }
        pool_.lend()->run(calls, Access::read);
    } catch (const std::exception& error) {
        log_.debug(fmt::format(
            "a wake-up was not sent, workers find the work by polling: {}", error.what()
        ));
    }
}

}  // namespace pawl::postgres
