#include "postgres_bare_runs.h"

#include <algorithm>
#include <fmt/format.h>
#include <poll.h>
#include <vector>

#include "bare_postgres.h"
#include "postgres/driver/binary_format.h"
#include "postgres/driver/params.h"

namespace bench {

namespace {

using pawl::postgres::Params;

constexpr int binary = 1;

// {0} the schema, {1} the workflow's id. Each is one transaction.
constexpr const char* trigger_sql = R"(
    with new as (
        select nextval('{0}.messages_message_id_seq') as run_id, u.input
        from unnest($1::text[]) as u (input)
    ), made as (
        insert into {0}.runs (run_id, workflow_id, status, priority, created_at, updated_at, input)
        select run_id, {1}, 'QUEUED', 0, now(), now(), input from new
    ), queued as (
        insert into {0}.messages
            (message_id, queue_id, priority, state, visible_at, enqueued_at, payload)
        select run_id, {1}, 0, 'ready', now(), now(), 'null' from new
    )
    select max(run_id), case when $2::text <> '' then pg_notify($2, '')::text end from new)";

constexpr const char* claim_sql = R"(
    with claimed as (
        update {0}.messages
        set state = 'leased', delivery = delivery + 1, strikes = strikes + 1,
            visible_at = now() + interval '30 seconds', worker_id = 1
        where message_id = any(array(
            select message_id from {0}.messages
            where queue_id = {1} and state = 'ready' and (-priority, message_id) > (0, $2::bigint)
            order by -priority, message_id limit $1::int for update skip locked
        ))
        returning message_id, delivery
    )
    update {0}.runs r
    set status = 'RUNNING', started_at = now(), worker_id = 1, updated_at = now()
    from claimed c where r.run_id = c.message_id
    returning r.run_id, c.delivery, r.input)";

// One row per recorded step.
constexpr const char* reclaim_sql = R"(
    with claimed as (
        update {0}.messages
        set delivery = delivery + 1, visible_at = now() + interval '30 seconds', worker_id = 1
        where message_id = any(array(
            select message_id from {0}.messages
            where queue_id = {1} and state <> 'ready' and visible_at <= now()
            order by visible_at limit $1::int for update skip locked
        ))
        returning message_id, delivery
    )
    select c.message_id, c.delivery, r.input, s.step_id, s.output
    from claimed c
    join {0}.runs r on r.run_id = c.message_id
    join {0}.steps s on s.run_id = c.message_id)";

constexpr const char* record_sql = R"(
    insert into {0}.steps
        (run_id, step_id, position, status, attempt, delivery, worker_id, started_at, completed_at,
         output)
    select u.run_id, $4::text, $5::int, 'SUCCESS', 1, u.delivery, 1, now(), now(), u.output
    from unnest($1::bigint[], $2::int[], $3::text[]) as u (run_id, delivery, output))";

constexpr const char* finish_sql = R"(
    with gone as (
        delete from {0}.messages where message_id = any($1::bigint[])
    ), done as (
        update {0}.runs r
        set status = 'SUCCESS', output = u.output, delivery = u.delivery, updated_at = now(),
            completed_at = now()
        from unnest($1::bigint[], $2::int[], $3::text[]) as u (run_id, delivery, output)
        where r.run_id = u.run_id
    )
    select pg_notify($4::text, '') where $4 <> '')";

constexpr const char* succeeded_sql =
    "select from {0}.runs where run_id = $1::bigint and status = 'SUCCESS'";

class PostgresBareRuns final : public BareRuns {
public:
    PostgresBareRuns(const std::string& url, std::string schema, std::int64_t workflow_id)
        : schema_(std::move(schema)), bare_(url) {
        // Forces the best plans: this is the ceiling.
        bare_.run(
            "set plan_cache_mode = force_generic_plan; set enable_seqscan = off; "
            "set enable_bitmapscan = off; set enable_hashjoin = off; set enable_mergejoin = off"
        );
        const auto prepare = [&](const char* name, const char* sql) {
            const auto text = fmt::format(fmt::runtime(sql), schema_, workflow_id);
            bare_.check(PQprepare(bare_.connection, name, text.c_str(), 0, nullptr));
        };
        prepare("trigger", trigger_sql);
        prepare("claim", claim_sql);
        prepare("reclaim", reclaim_sql);
        prepare("record", record_sql);
        prepare("finish", finish_sql);
        prepare("succeeded", succeeded_sql);
    }

    std::int64_t trigger(int count) override {
        const std::vector<std::string_view> inputs(static_cast<std::size_t>(count), small_json);
        const auto row = execute("trigger", Params().text_array(inputs).text(channel_told_));
        floor_ = 0;  // other connections may commit lower numbers later
        return pawl::postgres::read_int64(PQgetvalue(row.get(), 0, 0));
    }

    int work(int count, int steps) override {
        take(execute("claim", Params().int4(count).int8(floor_)));
        if (ids_.empty()) return 0;
        // Rows before it are taken: this skips dead index entries.
        floor_ = *std::ranges::max_element(ids_);
        for (int i = 0; i < steps; ++i) record(i);
        finish();
        return static_cast<int>(ids_.size());
    }

    int resume(int count) override {
        take(execute("reclaim", Params().int4(count)));
        if (ids_.empty()) return 0;
        record(static_cast<int>(step_names.size()) - 1);
        finish();
        return static_cast<int>(ids_.size());
    }

    void listen(Side side) override {
        const auto channel = [&](Side hears) {
            return fmt::format("{}_{}", schema_, hears == Side::worker ? "work" : "ends");
        };
        bare_.run("listen " + channel(side));
        channel_told_ = channel(side == Side::worker ? Side::waiter : Side::worker);
    }

    void wait(std::chrono::milliseconds timeout) override {
        pollfd socket{PQsocket(bare_.connection), POLLIN, 0};
        do {
            if (PQconsumeInput(bare_.connection) == 0)
                throw std::runtime_error(PQerrorMessage(bare_.connection));
            bool heard = false;
            while (PGnotify* notification = PQnotifies(bare_.connection)) {
                PQfreemem(notification);
                heard = true;
            }
            if (heard) return;
        } while (poll(&socket, 1, static_cast<int>(timeout.count())) > 0);
    }

    bool succeeded(std::int64_t run) override {
        return PQntuples(execute("succeeded", Params().int8(run)).get()) > 0;
    }

private:
    PostgresResult execute(const char* name, const Params& params) const {
        const char* const* values = params.values();
        return bare_.check(PQexecPrepared(
            bare_.connection,
            name,
            params.count(),
            values,
            params.lengths(),
            params.formats(),
            binary
        ));
    }

    void take(const PostgresResult& claimed) {
        ids_.clear();
        deliveries_.clear();
        for (int row = 0; row < PQntuples(claimed.get()); ++row) {
            const auto id = pawl::postgres::read_int64(PQgetvalue(claimed.get(), row, 0));
            if (!ids_.empty() && ids_.back() == id) continue;  // another step of the same run
            ids_.push_back(id);
            deliveries_.push_back(pawl::postgres::read_int32(PQgetvalue(claimed.get(), row, 1)));
        }
        outputs_.assign(ids_.size(), small_json);
    }
    void record(int step) const {
        execute("record", rows().text(step_names.at(static_cast<std::size_t>(step))).int4(step));
    }
    void finish() const { execute("finish", rows().text(channel_told_)); }
    Params rows() const {
        Params params;
        params.int8_array(ids_).int4_array(deliveries_).text_array(outputs_);
        return params;
    }

    std::string schema_;
    BarePostgres bare_;
    std::string channel_told_;  // empty if the other side does not listen
    std::int64_t floor_ = 0;
    std::vector<std::int64_t> ids_;
    std::vector<int> deliveries_;
    std::vector<std::string_view> outputs_;
};

}  // namespace

std::unique_ptr<BareRuns> postgres_bare_runs(
    const std::string& url, const std::string& schema, std::int64_t workflow_id
) {
    return std::make_unique<PostgresBareRuns>(url, schema, workflow_id);
}

}  // namespace bench
