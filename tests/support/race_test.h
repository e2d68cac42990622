// The fixture for races: several sessions on one PostgreSQL server, of which one has to wait for
// another.
#pragma once

#include <fmt/format.h>
#include <future>
#include <memory>
#include <string>

#include "support/store_test.h"

namespace pawl::test {

class RaceTest : public StoreTest {
protected:
    void SetUp() override {
        StoreTest::SetUp();
        freeze();
        sql_ = session();
        watch_ = session();
    }
    // If something hangs, the test fails.
    [[nodiscard]] std::unique_ptr<Database> session() const {
        auto made = database();
        made->run(
            "set search_path = " + place().schema() +
            "; set lock_timeout = '20s'; set statement_timeout = '20s'"
        );
        return made;
    }
    // A session in a transaction.
    [[nodiscard]] std::unique_ptr<Database> begin(const std::string& sql = "") const {
        auto made = session();
        made->run("begin; " + sql);
        return made;
    }
    [[nodiscard]] Database& sql() const { return *sql_; }
    [[nodiscard]] std::string status(const std::string& run) const {
        return watch_->value("select status from get_run(" + run + ")");
    }

    // The result of the session, or its error message; returns as soon as it waits for a lock.
    [[nodiscard]] std::future<std::string> waits(Database& who, const std::string& query) const {
        const std::string pid = who.value("select pg_backend_pid()");
        auto answer = std::async(std::launch::async, [&who, query]() -> std::string {
            try {
                return who.value(query);
            } catch (const std::exception& error) {
                return error.what();
            }
        });
        EXPECT_TRUE(eventually([&] {
            return answer.wait_for(0s) == std::future_status::ready ||
                   watch_->number(
                       "select count(*) from pg_locks where not granted and pid = " + pid
                   ) > 0;
        }));
        EXPECT_NE(answer.wait_for(0s), std::future_status::ready) << "it did not wait: " << query;
        return answer;
    }
    [[nodiscard]] std::future<std::string> waits(const std::string& query) const {
        return waits(*sql_, query);
    }

    void make_flow(const std::string& flow, const std::string& options = "max_attempts => 1")
        const {
        sql_->run(fmt::format(
            "select create_flow('{0}', {1}); select add_step('{0}', 'a')", flow, options
        ));
    }
    [[nodiscard]] std::string trigger(const std::string& workflow) const {
        return sql_->value(
            "select run_ids[1] from trigger_batch(array['" + workflow + "'], array['1'])"
        );
    }
    [[nodiscard]] std::string start(const std::string& flow) const {
        return sql_->value("select run_id from start_flow('" + flow + "')");
    }

private:
    std::unique_ptr<Database> sql_;
    std::unique_ptr<Database> watch_;
};

}  // namespace pawl::test
