#include "sqlite/file_watch.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <poll.h>
#include <span>
#include <sys/eventfd.h>
#include <sys/inotify.h>

namespace pawl::sqlite {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr microseconds forever(-1);
constexpr milliseconds without_events(250);
constexpr microseconds first_recheck(100);  // a small commit is synced in about that time
constexpr milliseconds last_look_again(800);
// Under load many commits cause one wake-up; a few in a row are passed on immediately.
constexpr microseconds between_calls(500);
constexpr double most_at_once = 16;
constexpr microseconds longest_own_write(5'000);

// Like poll(), which only supports whole milliseconds.
int poll_for(std::span<pollfd> files, microseconds time) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
    const timespec left{seconds.count(), std::chrono::nanoseconds(time - seconds).count()};
    return ::ppoll(files.data(), files.size(), time == forever ? nullptr : &left, nullptr);
}

std::int64_t read_version(Database& database) {
    database.wait_for_locks_until(std::chrono::steady_clock::now() + std::chrono::seconds(1));
    return data_version(database.session());
}

}  // namespace

FileWatch::FileWatch(
    std::function<std::unique_ptr<Database>()> open,
    std::function<void()> changed,
    std::function<bool()> is_writing,
    base::Log log,
    base::Outage& outage
)
    : open_(std::move(open)),
      database_(open_()),
      changed_(std::move(changed)),
      is_writing_(std::move(is_writing)),
      log_(std::move(log)),
      outage_(outage),
      stopped_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!stopped_) {
        throw Error(
            ErrorCode::connection_failed,
            "cannot watch the database file: " + std::string(std::strerror(errno))
        );
    }
    start_events();
    version_ = read_version(*database_);
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void FileWatch::start_events() {
    const std::filesystem::path file(database_->file());
    file_name_ = file.filename().string();
    Descriptor events(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
    const auto mask = static_cast<std::uint32_t>(IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_ONLYDIR);
    if (events && inotify_add_watch(events.value(), file.parent_path().c_str(), mask) >= 0) {
        events_ = std::move(events);
    } else {
        log_.debug(
            "no file events (" + std::string(std::strerror(errno)) +
            "): looking for commits of other processes every 250 ms"
        );
    }
}

void FileWatch::run(const std::stop_token& stop) {
    const std::stop_callback wake(stop, [this] {
        const std::uint64_t one = 1;
        [[maybe_unused]] const auto written = ::write(stopped_.value(), &one, sizeof one);
    });
    const microseconds idle = events_ ? forever : without_events;
    microseconds again = idle;
    base::Outage::Reporter outage(outage_, base::Outage::Reporter::Of::wake_ups);
    std::string logged;
    while (!stop.stop_requested()) {
        const bool activity = wait(again) == Seen::activity;
        wait_for_own_write();
        if (stop.stop_requested()) return;
        try {
            if (version_changed()) {
                changed_();
                if (!may_go_on_at_once()) sleep(between_calls);
            }
            outage.succeeded();
        } catch (const std::exception& error) {
            if (!outage.failed(error) && std::exchange(logged, error.what()) != error.what())
                log_.warning(std::string("looking for commits failed, retrying: ") + error.what());
            sleep(without_events);
        }
        if (!events_) continue;
        if (activity) {
            again = first_recheck;
        } else {
            again = again >= last_look_again ? idle : again * 2;
        }
    }
}

bool FileWatch::may_go_on_at_once() {
    const auto now = std::chrono::steady_clock::now();
    allowance_ = std::min(most_at_once, allowance_ + (now - counted_at_) / (1.0 * between_calls));
    counted_at_ = now;
    if (allowance_ < 1) return false;
    allowance_ -= 1;
    return true;
}

FileWatch::Seen FileWatch::wait(microseconds time) {
    const auto deadline = std::chrono::steady_clock::now() + time;
    for (;;) {
        std::array<pollfd, 2> files{
            pollfd{stopped_.value(), POLLIN, 0}, pollfd{events_.value(), POLLIN, 0}};
        microseconds left = time;
        if (time != forever) {
            left = std::chrono::ceil<microseconds>(deadline - std::chrono::steady_clock::now());
            left = std::max(left, microseconds::zero());
        }
        const int ready = poll_for(files, left);
        if (ready == 0 || files[0].revents != 0) return Seen::nothing;
        // Events of other files in the folder are ignored.
        if (ready > 0 && drain_events() == Seen::activity) return Seen::activity;
    }
}

void FileWatch::sleep(microseconds time) const {
    pollfd file{stopped_.value(), POLLIN, 0};
    poll_for(std::span(&file, 1), time);
}

// There is one writer at a time, so the current write is our own. A large commit causes hundreds of
// events: checking the version after each would cost a tenth of a busy worker's time.
void FileWatch::wait_for_own_write() const {
    for (microseconds pause(200); pause < longest_own_write && is_writing_(); pause *= 2)
        sleep(pause);
}

FileWatch::Seen FileWatch::drain_events() const {
    alignas(inotify_event) std::array<char, 4096> buffer{};
    Seen seen = Seen::nothing;
    for (;;) {
        const auto size = ::read(events_.value(), buffer.data(), buffer.size());
        if (size <= 0) return seen;
        for (std::size_t at = 0; at < static_cast<std::size_t>(size);) {
            const auto* event = reinterpret_cast<const inotify_event*>(buffer.data() + at);
            const std::string_view name(event->len > 0 ? event->name : "");
            if (name.starts_with(file_name_) || (event->mask & IN_Q_OVERFLOW) != 0)
                seen = Seen::activity;
            at += sizeof(inotify_event) + event->len;
        }
    }
}

bool FileWatch::version_changed() {
    if (database_->replaced()) {
        database_ = open_();
        version_ = read_version(*database_);
        return true;
    }
    const std::int64_t version = read_version(*database_);
    return std::exchange(version_, version) != version;
}

}  // namespace pawl::sqlite
