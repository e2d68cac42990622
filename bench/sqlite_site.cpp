#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <stdexcept>
#include <thread>
#include <vector>

#include "bare_sqlite.h"
#include "site.h"

namespace bench {

namespace {

using Clock = std::chrono::steady_clock;

using Bare = BareSqlite;

class SqliteSite final : public Site {
public:
    explicit SqliteSite(const std::string& name) {
        const char* dir = std::getenv("PAWL_BENCH_SQLITE_DIR");
        if (dir == nullptr)
            throw std::runtime_error("PAWL_BENCH_SQLITE_DIR is not set: use ./dev bench");
        file_ = fmt::format("{}/{}.db", dir, name);
        remove();
        store_ = std::make_unique<pawl::Store>(pawl::connect("sqlite:" + file_));
        store_->install();
        bare_ = std::make_unique<Bare>(file_);
    }
    ~SqliteSite() override {
        store_.reset();
        bare_.reset();
        remove();
    }

    std::string backend() const override { return "sqlite"; }

    void fill_ready(const std::string& queue, int count) override {
        fill(queue, count, "'ready', 0");
    }
    void fill_waiting(const std::string& queue, int count) override {
        fill(queue, count, "'waiting', 4000000000000000 + n");
    }
    void fill_archive(const std::string& queue, int count) override {
        bare_->run(fmt::format(
            "with recursive g(n) as (select 1 union all select n + 1 from g where n < {1}) "
            "insert into pawl_archive (message_id, queue_id, priority, delivery, strikes, "
            "attempts, dead, "
            "enqueued_at, archived_at, payload) select -n, (select queue_id from pawl_queues where "
            "name = '{0}'), "
            "0, 1, 1, 0, 0, 0, 0, '{{\"n\":1}}' from g",
            queue,
            count
        ));
    }
    void tidy() override { bare_->run("pragma wal_checkpoint(truncate)"); }

    double bare_drain(const std::string& queue, int consumers, int batch) override {
        const auto queue_id = store_->queue(queue).info().id.value();
        std::vector<std::unique_ptr<Bare>> connections;
        for (int i = 0; i < consumers; ++i) connections.push_back(std::make_unique<Bare>(file_));
        const auto start = Clock::now();
        std::vector<std::thread> threads;
        for (auto& connection : connections)
            threads.emplace_back([&, queue_id] { drain(*connection, queue_id, batch); });
        for (auto& thread : threads) thread.join();
        return std::chrono::duration<double>(Clock::now() - start).count();
    }

private:
    void fill(const std::string& queue, int count, std::string_view state) {
        bare_->run(fmt::format(
            "with recursive g(n) as (select 1 union all select n + 1 from g where n < {2}) "
            "insert into pawl_messages (queue_id, priority, state, visible_at, enqueued_at, "
            "payload) "
            "select (select queue_id from pawl_queues where name = '{0}'), 0, {1}, 0, "
            "'{{\"n\":1}}' from g",
            queue,
            state,
            count
        ));
    }

    static void drain(Bare& bare, std::int64_t queue_id, int batch) {
        auto* begin = bare.prepare("begin immediate");
        auto* commit = bare.prepare("commit");
        auto* claim = bare.prepare(fmt::format(
            "update pawl_messages set state = 'leased', delivery = delivery + 1, strikes = strikes "
            "+ 1, "
            "visible_at = ?1 where message_id in (select message_id from pawl_messages where "
            "queue_id = {} "
            "and state = 'ready' order by priority desc, message_id limit {}) returning "
            "message_id, delivery, payload",
            queue_id,
            batch
        ));
        auto* done = bare.prepare("delete from pawl_messages where message_id = ?1");
        std::vector<sqlite3_int64> ids;
        do {
            ids.clear();
            bare.step(begin);
            sqlite3_bind_int64(claim, 1, 4'000'000'000'000'000);
            while (sqlite3_step(claim) == SQLITE_ROW) ids.push_back(sqlite3_column_int64(claim, 0));
            bare.check(sqlite3_reset(claim));
            bare.step(commit);
            if (ids.empty()) return;
            bare.step(begin);
            for (const auto id : ids) {
                sqlite3_bind_int64(done, 1, id);
                bare.step(done);
            }
            bare.step(commit);
        } while (true);
    }

    void remove() const {
        for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(file_ + suffix);
    }

    std::string file_;
    std::unique_ptr<Bare> bare_;
};

}  // namespace

std::unique_ptr<Site> sqlite_site(const std::string& name) {
    return std::make_unique<SqliteSite>(name);
}

}  // namespace bench
