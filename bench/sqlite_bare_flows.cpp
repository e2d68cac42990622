#include "sqlite_bare_flows.h"

#include <chrono>
#include <fmt/format.h>
#include <vector>

#include "bare_sqlite.h"

namespace bench {

namespace {

constexpr std::int64_t task_lease_us = 62'000'000;
constexpr int last_step = diamond_tasks - 1;

// {0} is the workflow's id; ?1 is now, ?2 the run, ?3 the step's index, ?4 its slug, ?5 an output.
constexpr const char* claim_tasks_sql = R"(
    update pawl_messages
    set state = 'leased', delivery = delivery + 1, strikes = strikes + 1, visible_at = ?3,
        worker_id = 1
    where message_id in (
        select message_id from pawl_messages where queue_id = {0} and state = 'ready'
        order by priority desc, message_id limit ?2
    )
    returning message_id, run_id, step_index)";
constexpr const char* start_task_sql = R"(
    update pawl_tasks
    set status = 'RUNNING', attempts = attempts + 1, delivery = 1, worker_id = 1, started_at = ?1
    where run_id = ?2 and step_index = ?3 and task_index = 0)";
constexpr const char* start_run_sql = R"(
    update pawl_runs set status = 'RUNNING', started_at = ?1, worker_id = 1, updated_at = ?1
    where run_id = ?2)";
constexpr const char* end_task_sql = R"(
    update pawl_tasks set status = 'SUCCESS', output = ?5, completed_at = ?1
    where run_id = ?2 and step_index = ?3 and task_index = 0)";
constexpr const char* end_step_sql = R"(
    update pawl_steps set status = 'SUCCESS', remaining_tasks = 0, completed_at = ?1, output = ?5
    where run_id = ?2 and step_id = ?4)";
constexpr const char* start_step_sql = R"(
    update pawl_steps
    set status = 'RUNNING', remaining_deps = 0, started_at = ?1, initial_tasks = 1,
        remaining_tasks = 1
    where run_id = ?2 and step_id = ?4)";
constexpr const char* add_task_message_sql = R"(
    insert into pawl_messages (queue_id, priority, state, visible_at, enqueued_at, payload, run_id,
                               step_index, task_index, lease_ms)
    values ({0}, 0, 'ready', ?1, ?1, 'null', ?2, ?3, 0, 62000))";
constexpr const char* add_task_sql = R"(
    insert into pawl_tasks (run_id, step_index, task_index, message_id, status, queued_at)
    values (?2, ?3, 0, last_insert_rowid(), 'QUEUED', ?1))";
constexpr const char* count_run_sql = R"(
    update pawl_runs set remaining_steps = remaining_steps - ?3, updated_at = ?1 where run_id = ?2)";
constexpr const char* end_run_sql = R"(
    update pawl_runs
    set remaining_steps = 0, status = 'SUCCESS', output = ?5, updated_at = ?1, completed_at = ?1
    where run_id = ?2)";

// One connection: batches have an even size, so they contain both middle tasks of a run.
class SqliteBareFlows final : public TaskTaker {
public:
    SqliteBareFlows(const std::string& file, std::int64_t workflow_id) : bare_(file) {
        const auto prepare = [&](const char* sql) {
            return bare_.prepare(fmt::format(fmt::runtime(sql), workflow_id));
        };
        begin_ = prepare("begin immediate");
        commit_ = prepare("commit");
        claim_ = prepare(claim_tasks_sql);
        start_task_ = prepare(start_task_sql);
        start_run_ = prepare(start_run_sql);
        remove_ = prepare("delete from pawl_messages where message_id = ?2");
        end_task_ = prepare(end_task_sql);
        end_step_ = prepare(end_step_sql);
        start_step_ = prepare(start_step_sql);
        add_message_ = prepare(add_task_message_sql);
        add_task_ = prepare(add_task_sql);
        count_run_ = prepare(count_run_sql);
        end_run_ = prepare(end_run_sql);
        for (auto* statement : {end_task_, end_step_}) bind(statement, 5, small_output);
        bind(end_run_, 5, R"({"last":{"n":1}})");
    }

    int work(int count) override {
        now_ = now_us();
        bare_.step(begin_);
        take(count);
        for (const auto& task : taken_) {
            step(start_task_, task.run, task.step);
            if (task.step == 0) step(start_run_, task.run);
        }
        bare_.step(commit_);
        if (taken_.empty()) return 0;
        now_ = now_us();
        bare_.step(begin_);
        for (const auto& task : taken_) complete(task);
        bare_.step(commit_);
        return static_cast<int>(taken_.size());
    }

private:
    struct Taken {
        std::int64_t message;
        std::int64_t run;
        int step;
    };

    void take(int count) {
        taken_.clear();
        sqlite3_bind_int64(claim_, 2, count);
        sqlite3_bind_int64(claim_, 3, now_ + task_lease_us);
        while (sqlite3_step(claim_) == SQLITE_ROW) {
            taken_.push_back(
                {sqlite3_column_int64(claim_, 0),
                 sqlite3_column_int64(claim_, 1),
                 sqlite3_column_int(claim_, 2)}
            );
        }
        bare_.check(sqlite3_reset(claim_));
    }
    void complete(const Taken& task) {
        step(remove_, task.message);
        step(end_task_, task.run, task.step);
        step_row(end_step_, task.run, task.step);
        if (task.step == 0) {
            start_step(task.run, 1);
            start_step(task.run, 2);
            step(count_run_, task.run, 1);
        } else if (task.step == last_step) {
            step(end_run_, task.run);
        } else if (task.step == last_step - 1) {
            start_step(task.run, last_step);
            step(count_run_, task.run, 2);
        }
    }
    void start_step(std::int64_t run, int index) {
        step_row(start_step_, run, index);
        step(add_message_, run, index);
        step(add_task_, run, index);
    }
    void step_row(sqlite3_stmt* statement, std::int64_t run, int index) {
        bind(statement, 4, diamond_steps.at(static_cast<std::size_t>(index)));
        step(statement, run);
    }
    // Binding a parameter that the statement does not have is not an error here.
    void step(sqlite3_stmt* statement, std::int64_t id, int third = 0) {
        sqlite3_bind_int64(statement, 1, now_);
        sqlite3_bind_int64(statement, 2, id);
        if (sqlite3_bind_parameter_count(statement) >= 3) sqlite3_bind_int(statement, 3, third);
        bare_.step(statement);
    }

    BareSqlite bare_;
    std::int64_t now_ = 0;
    std::vector<Taken> taken_;
    sqlite3_stmt* begin_;
    sqlite3_stmt* commit_;
    sqlite3_stmt* claim_;
    sqlite3_stmt* start_task_;
    sqlite3_stmt* start_run_;
    sqlite3_stmt* remove_;
    sqlite3_stmt* end_task_;
    sqlite3_stmt* end_step_;
    sqlite3_stmt* start_step_;
    sqlite3_stmt* add_message_;
    sqlite3_stmt* add_task_;
    sqlite3_stmt* count_run_;
    sqlite3_stmt* end_run_;
};

}  // namespace

std::unique_ptr<TaskTaker> sqlite_bare_flows(const std::string& file, std::int64_t workflow_id) {
    return std::make_unique<SqliteBareFlows>(file, workflow_id);
}

}  // namespace bench
