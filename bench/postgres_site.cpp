#include <chrono>
#include <cstdlib>
#include <fmt/format.h>
#include <stdexcept>
#include <thread>
#include <vector>

#include "bare_postgres.h"
#include "site.h"

namespace bench {

namespace {

using Clock = std::chrono::steady_clock;

using Bare = BarePostgres;

class PostgresSite final : public Site {
public:
    explicit PostgresSite(const std::string& name) : schema_("bench_" + name) {
        const char* url = std::getenv("PAWL_BENCH_POSTGRES_URL");
        if (url == nullptr)
            throw std::runtime_error("PAWL_BENCH_POSTGRES_URL is not set: use ./dev bench");
        url_ = url;
        bare_ = std::make_unique<Bare>(url_);
        bare_->run("set client_min_messages = warning");
        bare_->run(fmt::format("drop schema if exists {} cascade", schema_));
        store_ = std::make_unique<pawl::Store>(pawl::connect(url_ + "?schema=" + schema_));
        store_->install();
    }
    ~PostgresSite() override {
        store_.reset();
        bare_->run(fmt::format("drop schema if exists {} cascade", schema_));
    }

    std::string backend() const override { return "postgres"; }

    void fill_ready(const std::string& queue, int count) override {
        fill(queue, count, "'ready', now()");
    }
    void fill_waiting(const std::string& queue, int count) override {
        fill(queue, count, "'waiting', now() + interval '1 day' + g * interval '1 ms'");
    }
    void fill_archive(const std::string& queue, int count) override {
        bare_->run(fmt::format(
            "insert into {0}.archive (message_id, queue_id, priority, delivery, strikes, attempts, "
            "dead, "
            "enqueued_at, archived_at, payload) select -g, (select queue_id from {0}.queues where "
            "name = '{1}'), "
            "0, 1, 1, 0, false, now(), now(), '{{\"n\":1}}' from generate_series(1, {2}) g",
            schema_,
            queue,
            count
        ));
    }
    void tidy() override {
        bare_->run(fmt::format("vacuum analyze {}.messages", schema_));
        bare_->run("checkpoint");
    }

    double bare_drain(const std::string& queue, int consumers, int batch) override {
        std::vector<std::unique_ptr<Bare>> connections;
        for (int i = 0; i < consumers; ++i) {
            connections.push_back(std::make_unique<Bare>(url_));
            prepare(*connections.back(), queue, batch);
        }
        const auto start = Clock::now();
        std::vector<std::thread> threads;
        for (auto& connection : connections)
            threads.emplace_back([&connection] { drain(*connection); });
        for (auto& thread : threads) thread.join();
        return std::chrono::duration<double>(Clock::now() - start).count();
    }

    double transactions() override {
        bare_->run("select pg_stat_clear_snapshot()");
        const auto result = bare_->check(PQexec(
            bare_->connection,
            "select xact_commit + xact_rollback from pg_stat_database where datname = "
            "current_database()"
        ));
        return std::stod(PQgetvalue(result.get(), 0, 0));
    }

private:
    void fill(const std::string& queue, int count, std::string_view state) {
        bare_->run(fmt::format(
            "insert into {0}.messages (queue_id, priority, state, visible_at, enqueued_at, "
            "payload) "
            "select (select queue_id from {0}.queues where name = '{1}'), 0, {2}, now(), "
            "'{{\"n\":1}}' "
            "from generate_series(1, {3}) g",
            schema_,
            queue,
            state,
            count
        ));
    }

    void prepare(const Bare& bare, const std::string& queue, int batch) const {
        // Forces the best plan: this is the ceiling.
        bare.run(
            "set plan_cache_mode = force_generic_plan; set enable_seqscan = off; set "
            "enable_bitmapscan = off"
        );
        bare.run(fmt::format(
            "prepare claim as update {0}.messages set state = 'leased', delivery = delivery + 1, "
            "strikes = strikes + 1, "
            "visible_at = clock_timestamp() + interval '30 seconds' where message_id = "
            "any(array(select message_id "
            "from {0}.messages where queue_id = {1} and state = 'ready' order by -priority, "
            "message_id limit {2} "
            "for update skip locked)) returning message_id, delivery, payload",
            schema_,
            store_->queue(queue).info().id.value(),
            batch
        ));
        bare.run(fmt::format(
            "prepare done(bigint[]) as delete from {}.messages where message_id = any($1)", schema_
        ));
    }

    static void drain(const Bare& bare) {
        while (true) {
            const auto claimed =
                bare.check(PQexecPrepared(bare.connection, "claim", 0, nullptr, nullptr, nullptr, 0)
                );
            const int count = PQntuples(claimed.get());
            std::string ids = "{";
            for (int i = 0; i < count; ++i) {
                if (i > 0) ids += ',';
                ids += PQgetvalue(claimed.get(), i, 0);
            }
            if (count == 0) return;
            ids += '}';
            const char* values[] = {ids.c_str()};
            bare.check(PQexecPrepared(bare.connection, "done", 1, values, nullptr, nullptr, 0));
        }
    }

    std::string url_;
    std::string schema_;
    std::unique_ptr<Bare> bare_;
};

}  // namespace

std::unique_ptr<Site> postgres_site(const std::string& name) {
    return std::make_unique<PostgresSite>(name);
}

}  // namespace bench
