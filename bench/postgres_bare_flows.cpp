#include "postgres_bare_flows.h"

#include <algorithm>
#include <fmt/format.h>
#include <vector>

#include "bare_statements.h"
#include "postgres/driver/binary_format.h"

namespace bench {

namespace {

using pawl::postgres::Params;

// {0} the schema, {1} the workflow's id. Each is one transaction.
constexpr const char* claim_tasks_sql = R"(
    with claimed as (
        update {0}.messages
        set state = 'leased', delivery = delivery + 1, strikes = strikes + 1,
            visible_at = now() + interval '62 seconds', worker_id = 1
        where message_id = any(array(
            select message_id from {0}.messages
            where queue_id = {1} and state = 'ready' and (-priority, message_id) > (0, $2::bigint)
            order by -priority, message_id limit $1::int for update skip locked
        ))
        returning message_id, run_id, step_index
    ), started as (
        update {0}.tasks t
        set status = 'RUNNING', attempts = attempts + 1, delivery = 1, worker_id = 1,
            started_at = now()
        from claimed c
        where t.run_id = c.run_id and t.step_index = c.step_index and t.task_index = 0
    ), begun as (
        update {0}.runs r
        set status = 'RUNNING', started_at = now(), worker_id = 1, updated_at = now()
        from claimed c where r.run_id = c.run_id and c.step_index = 0
    )
    select message_id, run_id, step_index from claimed order by message_id)";

// $1 messages, $2 runs, $3 step indexes, $4 slugs, $5 outputs. The common beginning of all
// completions.
constexpr const char* done_sql = R"(
    with u as materialized (
        select * from unnest($2::bigint[], $3::int[], $4::text[], $5::text[])
            as u (run_id, step_index, slug, output)
    ), gone as (
        delete from {0}.messages where message_id = any($1::bigint[])
    ), done as (
        update {0}.tasks t set status = 'SUCCESS', output = u.output, completed_at = now()
        from u where t.run_id = u.run_id and t.step_index = u.step_index and t.task_index = 0
    ), ended as (
        update {0}.steps s
        set status = 'SUCCESS', remaining_tasks = 0, completed_at = now(), output = u.output
        from u where s.run_id = u.run_id and s.step_id = u.slug
    ))";

constexpr const char* queued_sql = R"(
    , queued as (
        insert into {0}.messages (queue_id, priority, state, visible_at, enqueued_at, payload,
                                  run_id, step_index, task_index, lease_ms)
        select {1}, 0, 'ready', now(), now(), 'null', n.run_id, n.position, 0, 62000
        from next n where n.remaining_deps = 0
        returning message_id, run_id, step_index
    ), made as (
        insert into {0}.tasks (run_id, step_index, task_index, message_id, status, queued_at)
        select run_id, step_index, 0, message_id, 'QUEUED', now() from queued
    ))";

constexpr const char* after_first_sql = R"(
    , next as (
        update {0}.steps s
        set status = 'RUNNING', remaining_deps = 0, started_at = now(), initial_tasks = 1,
            remaining_tasks = 1
        from u cross join (values ('left'), ('right')) as v (slug)
        where s.run_id = u.run_id and s.step_id = v.slug
        returning s.run_id, s.position, s.remaining_deps
    ))";

// The two tasks of a run are usually in one batch, but not always.
constexpr const char* after_middle_sql = R"(
    , counts as (
        select run_id, count(*)::int as done from u group by run_id order by run_id
    ), next as (
        update {0}.steps s
        set remaining_deps = s.remaining_deps - n.done,
            status = case when s.remaining_deps = n.done then 'RUNNING' else s.status end,
            started_at = case when s.remaining_deps = n.done then now() end,
            initial_tasks = case when s.remaining_deps = n.done then 1 end,
            remaining_tasks = case when s.remaining_deps = n.done then 1 end
        from counts n where s.run_id = n.run_id and s.step_id = 'last'
        returning s.run_id, s.position, s.remaining_deps
    ))";

constexpr const char* count_first_sql = R"(
    update {0}.runs r set remaining_steps = r.remaining_steps - 1, updated_at = now()
    from u where r.run_id = u.run_id)";
constexpr const char* count_middle_sql = R"(
    update {0}.runs r set remaining_steps = r.remaining_steps - n.done, updated_at = now()
    from counts n where r.run_id = n.run_id)";
constexpr const char* finish_flow_sql = R"(
    update {0}.runs r
    set remaining_steps = 0, status = 'SUCCESS', output = '{{"last":' || u.output || '}}',
        updated_at = now(), completed_at = now()
    from u where r.run_id = u.run_id)";

class PostgresBareFlows final : public TaskTaker {
public:
    PostgresBareFlows(const std::string& url, const std::string& schema, std::int64_t workflow_id)
        : statements_(url) {
        // Forces the best plans: this is the ceiling.
        statements_.run(
            "set plan_cache_mode = force_generic_plan; set enable_seqscan = off; "
            "set enable_bitmapscan = off; set enable_hashjoin = off; set enable_mergejoin = off"
        );
        const auto prepare = [&](const char* name, const std::string& sql) {
            statements_.prepare(name, fmt::format(fmt::runtime(sql), schema, workflow_id));
        };
        const std::string done = done_sql;
        prepare("claim", claim_tasks_sql);
        prepare("first", done + after_first_sql + queued_sql + count_first_sql);
        prepare("middle", done + after_middle_sql + queued_sql + count_middle_sql);
        prepare("last", done + finish_flow_sql);
    }

    int work(int count) override {
        const auto claimed = statements_.execute("claim", Params().int4(count).int8(floor_));
        const int rows = PQntuples(claimed.get());
        // Rows before it are taken: this skips dead index entries. Other connections may commit
        // lower numbers later, so an empty claim restarts from 0.
        floor_ = rows == 0 ? 0 : value64(claimed, rows - 1, 0);
        for (int row = 0; row < rows;) row = complete(claimed, row);
        return rows;
    }
    double round_trips() const override { return statements_.round_trips(); }

private:
    static std::int64_t value64(const PostgresResult& rows, int row, int column) {
        return pawl::postgres::read_int64(PQgetvalue(rows.get(), row, column));
    }
    // Selects the statement. The tasks of a batch are usually of one kind.
    static std::string kind(int step_index) {
        return step_index == 0 ? "first" : step_index == diamond_tasks - 1 ? "last" : "middle";
    }
    static int step_index(const PostgresResult& rows, int row) {
        return pawl::postgres::read_int32(PQgetvalue(rows.get(), row, 2));
    }

    int complete(const PostgresResult& claimed, int begin) {
        messages_.clear();
        runs_.clear();
        indexes_.clear();
        slugs_.clear();
        const auto what = kind(step_index(claimed, begin));
        int row = begin;
        for (; row < PQntuples(claimed.get()); ++row) {
            const int index = step_index(claimed, row);
            if (kind(index) != what) break;
            messages_.push_back(value64(claimed, row, 0));
            runs_.push_back(value64(claimed, row, 1));
            indexes_.push_back(index);
            slugs_.push_back(diamond_steps.at(static_cast<std::size_t>(index)));
        }
        outputs_.assign(messages_.size(), small_output);
        Params params;
        params.int8_array(messages_).int8_array(runs_).int4_array(indexes_);
        params.text_array(slugs_).text_array(outputs_);
        statements_.execute(what.c_str(), params);
        return row;
    }

    BareStatements statements_;
    std::int64_t floor_ = 0;
    std::vector<std::int64_t> messages_;
    std::vector<std::int64_t> runs_;
    std::vector<int> indexes_;
    std::vector<std::string_view> slugs_;
    std::vector<std::string_view> outputs_;
};

}  // namespace

std::unique_ptr<TaskTaker> postgres_bare_flows(
    const std::string& url, const std::string& schema, std::int64_t workflow_id
) {
    return std::make_unique<PostgresBareFlows>(url, schema, workflow_id);
}

}  // namespace bench
