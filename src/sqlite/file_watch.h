// Detects commits to the file by any process, and calls back.
//
// The file system reports writes to the -wal file; data_version of the connection shows whether a
// write was a commit. SQLite writes frames, syncs, and only then makes them visible. So the event
// arrives too early, and after each one the version is checked a few more times, at growing
// intervals, until more than a second has passed without a change. Writes of this process need no
// check. An idle watch costs nothing: the thread sleeps in poll().
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>

#include "base/log.h"
#include "base/outage.h"
#include "sqlite/database.h"

namespace pawl::sqlite {

class FileWatch {
public:
    // Detects every commit after the constructor has returned. `changed` is called from the
    // watching thread and must not throw. `is_writing` returns whether this process is in the
    // middle of a commit.
    FileWatch(
        std::function<std::unique_ptr<Database>()> open,
        std::function<void()> changed,
        std::function<bool()> is_writing,
        base::Log log,
        base::Outage& outage
    );

private:
    enum class Seen { nothing, activity };

    void run(const std::stop_token& stop);
    // Sleeps until an event arrives, the time has elapsed (negative: no limit), or a stop is
    // requested.
    [[nodiscard]] Seen wait(std::chrono::microseconds time);
    void sleep(std::chrono::microseconds time) const;
    void wait_for_own_write() const;
    [[nodiscard]] Seen drain_events() const;
    [[nodiscard]] bool version_changed();
    [[nodiscard]] bool may_go_on_at_once();
    void start_events();

    std::function<std::unique_ptr<Database>()> open_;  // called again if the file is replaced
    std::unique_ptr<Database> database_;
    std::function<void()> changed_;
    std::function<bool()> is_writing_;
    base::Log log_;
    base::Outage& outage_;
    std::string file_name_;
    Descriptor events_;  // inotify; none: the version is checked every 250 ms
    Descriptor stopped_;
    std::int64_t version_ = 0;
    double allowance_ = 0;  // calls that may follow each other without a pause
    std::chrono::steady_clock::time_point counted_at_{};
    std::jthread thread_;  // last: it uses all other members
};

}  // namespace pawl::sqlite
