// Notices that somebody committed to the file, in whatever process, and calls back.
//
// The file system tells when the -wal file is written; whether that was a commit tells the
// connection's data_version. The order is: frames written, synced, and only then visible. So the
// event comes too early, and after each one the version is looked at a few more times, ever more
// seldom, until more than a second has passed quietly. What this process writes itself is known
// without a look. Idle it costs nothing: the thread sleeps in poll().
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>

#include "base/log.h"
#include "sqlite/database.h"

namespace pawl::sqlite {

class FileWatch {
public:
    // Everything committed after the constructor has returned is noticed. `changed` is called from
    // the watching thread and must not throw. `is_writing`: whether this process is in the middle
    // of a commit of its own.
    FileWatch(
        std::function<std::unique_ptr<Database>()> open,
        std::function<void()> changed,
        std::function<bool()> is_writing,
        base::Log log
    );

private:
    enum class Seen { nothing, activity };

    void run(const std::stop_token& stop);
    // Sleeps until something happens, the time is over (negative: never), or a stop.
    [[nodiscard]] Seen wait(std::chrono::microseconds time);
    void sleep(std::chrono::microseconds time) const;
    void let_own_write_end() const;
    [[nodiscard]] Seen drain_events() const;
    [[nodiscard]] bool version_changed();
    [[nodiscard]] bool may_go_on_at_once();
    void start_events();

    std::function<std::unique_ptr<Database>()> open_;  // again if the file is replaced
    std::unique_ptr<Database> database_;
    std::function<void()> changed_;
    std::function<bool()> is_writing_;
    base::Log log_;
    std::string file_name_;
    Descriptor events_;  // inotify; none: the version is looked at every 250 ms
    Descriptor stopped_;
    std::int64_t version_ = 0;
    double allowance_ = 0;  // calls that may follow each other without a pause
    std::chrono::steady_clock::time_point counted_at_{};
    std::jthread thread_;  // last: it uses all the others
};

}  // namespace pawl::sqlite
