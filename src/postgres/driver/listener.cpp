#include "postgres/driver/listener.h"

#include <array>
#include <charconv>
#include <fmt/format.h>
#include <poll.h>
#include <string_view>
#include <sys/eventfd.h>
#include <unistd.h>

#include "generated/postgres_sql.h"
#include "postgres/driver/wake_payload.h"

namespace pawl::postgres {

namespace {

constexpr std::string_view run_prefix = "run:";  // the run has ended
constexpr std::string_view cancelled_prefix = "cancelled:";
constexpr std::string_view worker_prefix = "worker:";  // an operator has changed its status

std::int64_t number(std::string_view text) {
    std::int64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

}  // namespace

Listener::Listener(
    const PostgresTarget& target,
    const Times& times,
    seam::WakeHub& hub,
    seam::RunWakeups& signals,
    base::Log log
)
    : target_(target),
      times_(times),
      hub_(hub),
      signals_(signals),
      log_(std::move(log)),
      wake_fd_(eventfd(0, EFD_CLOEXEC)),
      thread_([this](const std::stop_token& stop) { work(stop); }) {}

Listener::~Listener() {
    thread_.request_stop();
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = write(wake_fd_, &one, sizeof one);
    thread_.join();
    close(wake_fd_);
}

void Listener::work(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        try {
            listen(stop);
        } catch (const std::exception& error) {
            if (stop.stop_requested()) return;
            log_.info(fmt::format(
                "LISTEN connection lost, polling until it is restored: {}", error.what()
            ));
        }
        pollfd waiting{wake_fd_, POLLIN, 0};
        if (!stop.stop_requested()) poll(&waiting, 1, static_cast<int>(pause_.count()));
        pause_ = std::min<Duration>(pause_ * 2, 5s);
    }
}

void Listener::listen(const std::stop_token& stop) {
    const auto connection = Connection::open(target_, times_.connect, wake_fd_);
    connection->set_call_timeout(times_.answer);
    connection->run_script(connection->expand(sql::listen.text), sql::listen.name);
    pause_ = first_pause;
    hub_.notify_all();
    signals_.notify_all();
    while (!stop.stop_requested()) {
        std::array<pollfd, 2> waiting{
            pollfd{PQsocket(connection->native()), POLLIN, 0}, pollfd{wake_fd_, POLLIN, 0}};
        const int ready =
            poll(waiting.data(), waiting.size(), static_cast<int>(times_.probe.count()));
        // A connection that the server has lost looks like one without notifications.
        if (ready == 0) connection->run_script(std::string(sql::probe.text), sql::probe.name);
        if (waiting[0].revents != 0 && PQconsumeInput(connection->native()) != 1)
            throw Error(ErrorCode::connection_failed, connection_message(connection->native()));
        deliver(connection->native());
    }
}

void Listener::deliver(PGconn* connection) {
    while (const PgNotify notification{PQnotifies(connection)}) {
        const std::string_view text = notification->extra;
        if (text.starts_with(run_prefix)) {
            signals_.notify(RunId(number(text.substr(run_prefix.size()))));
        } else if (text.starts_with(cancelled_prefix)) {
            signals_.notify_cancelled(RunId(number(text.substr(cancelled_prefix.size()))));
        } else if (text.starts_with(worker_prefix)) {
            signals_.notify_workers();
        } else if (const auto topic = wake_topic(number(text))) {
            hub_.notify(*topic);
        } else {
            hub_.notify_all();
        }
    }
}

}  // namespace pawl::postgres
