#include <fmt/format.h>

#include "bare_postgres.h"
#include "reports_fill.h"

namespace bench {

namespace {

// Most runs belong to few workflows, most messages to few queues. QUEUED runs are the newest,
// RUNNING ones the next.
constexpr const char* reports_sql = R"(
    insert into {0}.queues (name, created_at, max_attempts, keep_archive)
    select 'wf' || i, now(), 0, false from generate_series(1, 25) i;
    insert into {0}.workflows (workflow_id, created_at) select queue_id, now() from {0}.queues where name like 'wf%';
    insert into {0}.queues (name, created_at) select 'q' || i, now() from generate_series(1, 200) i;
    create temp table made as
    select i, nextval('{0}.messages_message_id_seq') as id, timestamptz '2026-01-01' + i * interval '1 second' as at,
           (select queue_id from {0}.queues where name = 'wf1') + floor(24 * pow(i::bigint * 7919 % 10007 / 10007.0, 3)) as wf,
           case when i > {1} * 0.95 then 'QUEUED' when i > {1} * 0.95 - 50 then 'RUNNING'
                when i % 1000 = 1 then 'PAUSED' when i % 5000 = 2 then 'CANCELLED' when i % 50 = 3 then 'ERROR'
                else 'SUCCESS' end as status
    from generate_series(1, {1}) i;
    insert into {0}.runs (run_id, workflow_id, status, priority, created_at, updated_at, started_at, completed_at,
                          paused_at, input, output, error, idempotency_key, deleted_at)
    select id, wf, status, 0, at, at, case when status <> 'QUEUED' then at end,
           case when status in ('SUCCESS', 'ERROR', 'CANCELLED') then at + interval '1 second' end,
           case when status = 'PAUSED' then at end, '1', case when status = 'SUCCESS' then '1' end,
           case status when 'ERROR' then '{{"type":"permanent"}}' when 'CANCELLED' then '{{"type":"cancelled"}}' end,
           case when i % 3 = 0 then 'k' || i end, case when i % 500 = 300 then at end
    from made;
    insert into {0}.messages (message_id, queue_id, priority, delivery, state, visible_at, enqueued_at, payload)
    select id, wf, 0, (status <> 'QUEUED')::int,
           case status when 'QUEUED' then 'ready' when 'RUNNING' then 'leased' else 'waiting' end,
           case status when 'QUEUED' then at else now() + interval '1 day' end, at, '1'
    from made where status in ('QUEUED', 'RUNNING', 'PAUSED');
    insert into {0}.run_tags select 'popular', id from made where i % 2 = 0;
    insert into {0}.run_tags select 'rare' || i % 1000, id from made where i % 10 = 7;
    insert into {0}.messages (queue_id, priority, state, visible_at, enqueued_at, payload)
    select (select queue_id from {0}.queues where name = 'q1') + floor(180 * pow(i::bigint * 7919 % 10007 / 10007.0, 3)), i % 3,
           case i % 10 when 8 then 'waiting' when 9 then 'leased' else 'ready' end,
           case when i % 10 < 8 then now() else now() + interval '1 day' end, now(), '1'
    from generate_series(1, {1} / 5) i;
    insert into {0}.archive
    select nextval('{0}.messages_message_id_seq'),
           (select queue_id from {0}.queues where name = 'q1') + floor(180 * pow(i::bigint * 7919 % 10007 / 10007.0, 3)),
           0, 1, 0, 0, i % 100 = 0, null, now(), now(), null, '1'
    from generate_series(1, {1}) i;
    insert into {0}.workers (name, host, port, pid, status, lease_ms, subscriptions, handlers, started_at, heartbeat_at)
    select 'w', 'h', 0, i, 'STOPPED', 30000, '{{wf1}}', '{{wf1}}', now(), now() from generate_series(1, {1} / 10) i;
    do $do$ begin
        if exists (select from information_schema.columns
                   where table_schema = '{0}' and table_name = 'runs' and column_name = 'cancelled') then
            update {0}.runs set cancelled = true where status = 'CANCELLED';
        end if;
    end $do$;
)";

}  // namespace

void fill_postgres_reports(const std::string& url, const std::string& schema, int runs) {
    const BarePostgres bare(url);
    bare.run(fmt::format(reports_sql, schema, runs));
    for (const char* table : {"runs", "messages", "archive", "run_tags", "workers", "queues"})
        bare.run(fmt::format("vacuum analyze {}.{}", schema, table));
}

}  // namespace bench
