#include "sqlite_bare_runs.h"

#include <array>
#include <chrono>
#include <filesystem>
#include <fmt/format.h>
#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "bare_sqlite.h"

namespace bench {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::int64_t lease_us = 30'000'000;

// {0} is the workflow's id; ?1 is now.
constexpr const char* add_message_sql = R"(
    insert into pawl_messages (queue_id, priority, state, visible_at, enqueued_at, payload)
    values ({0}, 0, 'ready', ?1, ?1, 'null'))";
constexpr const char* add_run_sql = R"(
    insert into pawl_runs (run_id, workflow_id, status, priority, created_at, updated_at, input)
    values (?2, {0}, 'QUEUED', 0, ?1, ?1, ?3))";
constexpr const char* claim_sql = R"(
    update pawl_messages
    set state = 'leased', delivery = delivery + 1, strikes = strikes + 1, visible_at = ?3,
        worker_id = 1
    where message_id in (
        select message_id from pawl_messages where queue_id = {0} and state = 'ready'
        order by priority desc, message_id limit ?2
    )
    returning message_id, delivery)";
constexpr const char* reclaim_sql = R"(
    update pawl_messages
    set delivery = delivery + 1, visible_at = ?3, worker_id = 1
    where message_id in (
        select message_id from pawl_messages
        where queue_id = {0} and state <> 'ready' and visible_at <= ?1
        order by visible_at limit ?2
    )
    returning message_id, delivery)";
constexpr const char* start_sql = R"(
    update pawl_runs set status = 'RUNNING', started_at = ?1, worker_id = 1, updated_at = ?1
    where run_id = ?2)";
constexpr const char* input_sql = "select input from pawl_runs where run_id = ?2";
constexpr const char* read_sql = R"(
    select r.input, s.step_id, s.output from pawl_runs r join pawl_steps s using (run_id)
    where r.run_id = ?2 order by s.position)";
constexpr const char* record_sql = R"(
    insert into pawl_steps (run_id, step_id, position, status, attempt, delivery, worker_id,
                            started_at, completed_at, output)
    values (?2, ?4, ?5, 'SUCCESS', 1, ?3, 1, ?1, ?1, ?6))";
constexpr const char* finish_sql = R"(
    update pawl_runs
    set status = 'SUCCESS', output = ?4, delivery = ?3, updated_at = ?1, completed_at = ?1
    where run_id = ?2)";

// Waits for commits with inotify on the -wal file, followed by a few more checks, because the file
// is written before the commit is visible.
class Ear {
public:
    explicit Ear(const std::filesystem::path& folder)
        : events_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
        if (events_ < 0 || inotify_add_watch(events_, folder.c_str(), IN_MODIFY) < 0)
            throw std::runtime_error("cannot watch the database file");
    }
    ~Ear() { close(events_); }
    Ear(const Ear&) = delete;
    Ear& operator=(const Ear&) = delete;

    // True if the file was written, false at the timeout.
    bool wait(microseconds timeout) const {
        pollfd events{events_, POLLIN, 0};
        const timespec time{0, std::chrono::nanoseconds(timeout).count()};
        if (ppoll(&events, 1, &time, nullptr) <= 0) return false;
        alignas(inotify_event) std::array<char, 4096> buffer{};
        while (read(events_, buffer.data(), buffer.size()) > 0) {
        }
        return true;
    }

private:
    int events_;
};

class SqliteBareRuns final : public BareRuns {
public:
    SqliteBareRuns(const std::string& file, std::int64_t workflow_id) : file_(file), bare_(file) {
        const auto prepare = [&](const char* sql) {
            return bare_.prepare(fmt::format(fmt::runtime(sql), workflow_id));
        };
        begin_ = prepare("begin immediate");
        commit_ = prepare("commit");
        add_message_ = prepare(add_message_sql);
        add_run_ = prepare(add_run_sql);
        claim_ = prepare(claim_sql);
        reclaim_ = prepare(reclaim_sql);
        start_ = prepare(start_sql);
        input_ = prepare(input_sql);
        read_ = prepare(read_sql);
        record_ = prepare(record_sql);
        finish_ = prepare(finish_sql);
        remove_ = prepare("delete from pawl_messages where message_id = ?1");
        succeeded_ = prepare("select 1 from pawl_runs where run_id = ?1 and status = 'SUCCESS'");
        data_version_ = prepare("pragma data_version");
    }

    std::int64_t trigger(int count) override {
        std::int64_t id = 0;
        bare_.step(begin_);
        const auto now = now_us();
        sqlite3_bind_int64(add_message_, 1, now);
        sqlite3_bind_int64(add_run_, 1, now);
        bind(add_run_, 3, small_json);
        for (int i = 0; i < count; ++i) {
            bare_.step(add_message_);
            id = sqlite3_last_insert_rowid(bare_.db);
            sqlite3_bind_int64(add_run_, 2, id);
            bare_.step(add_run_);
        }
        bare_.step(commit_);
        return id;
    }

    int work(int count, int steps) override {
        bare_.step(begin_);
        take(claim_, count);
        sqlite3_bind_int64(start_, 1, now_us());
        for (const auto& run : taken_) {
            look_at(input_, run);  // a returning clause would need a temporary table per row
            look_at(start_, run);
        }
        bare_.step(commit_);
        if (taken_.empty()) return 0;
        for (int i = 0; i < steps; ++i) record(i);
        finish();
        return static_cast<int>(taken_.size());
    }

    int resume(int count) override {
        bare_.step(begin_);
        take(reclaim_, count);
        for (const auto& run : taken_) look_at(read_, run);
        bare_.step(commit_);
        if (taken_.empty()) return 0;
        record(static_cast<int>(step_names.size()) - 1);
        finish();
        return static_cast<int>(taken_.size());
    }

    void listen(Side /*side*/) override {
        ear_ = std::make_unique<Ear>(std::filesystem::path(file_).parent_path());
        version_ = integer(data_version_);
    }

    void wait(milliseconds timeout) override {
        const auto deadline = steady_clock::now() + timeout;
        microseconds look_again(100);  // the last write may become visible only now
        while (steady_clock::now() < deadline) {
            const auto version = integer(data_version_);
            if (std::exchange(version_, version) != version) return;
            look_again = ear_->wait(look_again) ? microseconds(100)
                                                : std::min(look_again * 2, microseconds(409'600));
        }
    }

    bool succeeded(std::int64_t run) override {
        sqlite3_bind_int64(succeeded_, 1, run);
        return integer(succeeded_) == 1;
    }

private:
    struct Taken {
        std::int64_t id;
        std::int64_t delivery;
    };

    // The first column of the only row; 0 if there is no row.
    std::int64_t integer(sqlite3_stmt* statement) const {
        const int code = sqlite3_step(statement);
        bare_.check(code);
        const auto value = code == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
        bare_.check(sqlite3_reset(statement));
        return value;
    }
    void take(sqlite3_stmt* claim, int count) {
        const auto now = now_us();
        taken_.clear();
        sqlite3_bind_int64(claim, 1, now);
        sqlite3_bind_int64(claim, 2, count);
        sqlite3_bind_int64(claim, 3, now + lease_us);
        while (sqlite3_step(claim) == SQLITE_ROW)
            taken_.push_back({sqlite3_column_int64(claim, 0), sqlite3_column_int64(claim, 1)});
        bare_.check(sqlite3_reset(claim));
    }
    void look_at(sqlite3_stmt* statement, const Taken& run) const {
        sqlite3_bind_int64(statement, 2, run.id);
        while (sqlite3_step(statement) == SQLITE_ROW) (void)sqlite3_column_text(statement, 0);
        bare_.check(sqlite3_reset(statement));
    }
    void record(int step) const {
        bare_.step(begin_);
        sqlite3_bind_int64(record_, 1, now_us());
        bind(record_, 4, step_names.at(static_cast<std::size_t>(step)));
        sqlite3_bind_int64(record_, 5, step);
        bind(record_, 6, small_json);
        for (const auto& run : taken_) {
            sqlite3_bind_int64(record_, 2, run.id);
            sqlite3_bind_int64(record_, 3, run.delivery);
            bare_.step(record_);
        }
        bare_.step(commit_);
    }
    void finish() const {
        bare_.step(begin_);
        sqlite3_bind_int64(finish_, 1, now_us());
        bind(finish_, 4, small_json);
        for (const auto& run : taken_) {
            sqlite3_bind_int64(finish_, 2, run.id);
            sqlite3_bind_int64(finish_, 3, run.delivery);
            bare_.step(finish_);
            sqlite3_bind_int64(remove_, 1, run.id);
            bare_.step(remove_);
        }
        bare_.step(commit_);
    }

    std::string file_;
    BareSqlite bare_;
    std::unique_ptr<Ear> ear_;
    std::int64_t version_ = 0;
    std::vector<Taken> taken_;
    sqlite3_stmt* begin_;
    sqlite3_stmt* commit_;
    sqlite3_stmt* add_message_;
    sqlite3_stmt* add_run_;
    sqlite3_stmt* claim_;
    sqlite3_stmt* reclaim_;
    sqlite3_stmt* start_;
    sqlite3_stmt* input_;
    sqlite3_stmt* read_;
    sqlite3_stmt* record_;
    sqlite3_stmt* finish_;
    sqlite3_stmt* remove_;
    sqlite3_stmt* succeeded_;
    sqlite3_stmt* data_version_;
};

}  // namespace

std::unique_ptr<BareRuns> sqlite_bare_runs(const std::string& file, std::int64_t workflow_id) {
    return std::make_unique<SqliteBareRuns>(file, workflow_id);
}

}  // namespace bench
