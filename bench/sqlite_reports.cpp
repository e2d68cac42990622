#include <fmt/format.h>

#include "bare_sqlite.h"
#include "reports_fill.h"

namespace bench {

namespace {

// The same as postgres_reports.cpp.
constexpr const char* reports_sql = R"(
    begin;
    create temp table n (i integer primary key);
    insert into n with recursive s (i) as (select 1 union all select i + 1 from s where i < {0}) select i from s;
    insert into pawl_queues (name, created_at, max_attempts, keep_archive)
    select 'wf' || i, 1, 0, 0 from n where i <= 25;
    insert into pawl_workflows (workflow_id, created_at) select queue_id, 1 from pawl_queues where name like 'wf%';
    insert into pawl_queues (name, created_at) select 'q' || i, 1 from n where i <= 200;
    create temp table made as
    select i, 1000000 + i as id, 1767225600000000 + i * 1000000 as at,
           (select queue_id from pawl_queues where name = 'wf1')
               + cast(24 * x * x * x as integer) as wf,
           case when i > {0} * 0.95 then 'QUEUED' when i > {0} * 0.95 - 50 then 'RUNNING'
                when i % 1000 = 1 then 'PAUSED' when i % 5000 = 2 then 'CANCELLED' when i % 50 = 3 then 'ERROR'
                else 'SUCCESS' end as status
    from (select i, i * 7919 % 10007 / 10007.0 as x from n);
    insert into pawl_runs (run_id, workflow_id, status, priority, created_at, updated_at, started_at, completed_at,
                           paused_at, input, output, error, idempotency_key, deleted_at, cancelled)
    select id, wf, status, 0, at, at, case when status <> 'QUEUED' then at end,
           case when status in ('SUCCESS', 'ERROR', 'CANCELLED') then at + 1000000 end,
           case when status = 'PAUSED' then at end, '1', case when status = 'SUCCESS' then '1' end,
           case status when 'ERROR' then '{{"type":"permanent"}}' when 'CANCELLED' then '{{"type":"cancelled"}}' end,
           case when i % 3 = 0 then 'k' || i end, case when i % 500 = 300 then at end,
           case when status = 'CANCELLED' then 1 end
    from made;
    insert into pawl_messages (message_id, queue_id, priority, delivery, state, visible_at, enqueued_at, payload)
    select id, wf, 0, status <> 'QUEUED',
           case status when 'QUEUED' then 'ready' when 'RUNNING' then 'leased' else 'waiting' end,
           case status when 'QUEUED' then at else {1} end, at, '1'
    from made where status in ('QUEUED', 'RUNNING', 'PAUSED');
    insert into pawl_run_tags select 'popular', id from made where i % 2 = 0;
    insert into pawl_run_tags select 'rare' || i % 1000, id from made where i % 10 = 7;
    insert into pawl_messages (message_id, queue_id, priority, state, visible_at, enqueued_at, payload)
    select 10000000 + i, (select queue_id from pawl_queues where name = 'q1')
               + cast(180 * x * x * x as integer), i % 3,
           case i % 10 when 8 then 'waiting' when 9 then 'leased' else 'ready' end,
           case when i % 10 < 8 then 1 else {1} end, 1, '1'
    from (select i, i * 7919 % 10007 / 10007.0 as x from n where i <= {0} / 5);
    insert into pawl_archive
    select 20000000 + i, (select queue_id from pawl_queues where name = 'q1')
               + cast(180 * x * x * x as integer), 0, 1, 0, 0, i % 100 = 0, null, 1, 1, null, '1'
    from (select i, i * 7919 % 10007 / 10007.0 as x from n);
    insert into pawl_workers (name, host, port, pid, status, lease_ms, subscriptions, handlers, started_at, heartbeat_at)
    select 'w', 'h', 0, i, 'STOPPED', 30000, '["wf1"]', '["wf1"]', 1, 1 from n where i <= {0} / 10;
    commit;
    pragma wal_checkpoint(truncate);
)";

}  // namespace

void fill_sqlite_reports(const std::string& file, int runs) {
    const std::int64_t tomorrow = now_us() + 86'400'000'000;
    BareSqlite(file).run(fmt::format(reports_sql, runs, tomorrow));
}

}  // namespace bench
