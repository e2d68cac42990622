// The server goes away during the work, and returns.
#include <atomic>
#include <latch>
#include <pawl/json.h>

#include "support/database.h"
#include "support/process.h"
#include "support/store_test.h"

namespace pawl::test {
namespace {

// A separate server for the test.
class Cluster {
public:
    Cluster() {
        const Finished started = tool({"start", directory_.file("pg"), "-c", "fsync=off"});
        if (started.code != 0) throw std::runtime_error("no cluster: " + started.err);
        url_ = started.out.substr(0, started.out.find('\n'));
    }
    ~Cluster() { tool({"remove", directory_.file("pg")}); }
    Cluster(const Cluster&) = delete;
    Cluster& operator=(const Cluster&) = delete;

    [[nodiscard]] const std::string& url() const { return url_; }
    void command(const std::string& name) const {
        const Finished finished = tool({name, directory_.file("pg")});
        if (finished.code != 0) throw std::runtime_error(name + " failed: " + finished.err);
    }

private:
    static Finished tool(std::vector<std::string> arguments) {
        arguments.insert(
            arguments.begin(), std::string(PAWL_SOURCE_DIR) + "/tools/postgres_cluster.sh"
        );
        return run(std::move(arguments));
    }
    TempDirectory directory_;
    std::string url_;
};

class RestartTest : public ::testing::Test {
protected:
    using Run = pawl::Run;  // hides a function of the test framework

    RestartTest() : place_(BackendKind::postgres, cluster_.url()) {
        ConnectOptions options;
        options.log = log_.hook();
        store_.emplace(connect(place_.url(), options));
        store_->install();
        store_->create_queue("work");
    }
    ~RestartTest() override {
        if (HasFailure()) std::cout << log_.text();
    }
    // The first command hits the server while bodies run; they end before the next one.
    void hit(const std::vector<std::string>& commands, std::latch& bodies) {
        cluster_.command(commands.front());
        bodies.count_down();
        for (std::size_t i = 1; i < commands.size(); ++i) cluster_.command(commands[i]);
    }
    // Processes 400 messages; the server is hit in the middle.
    void survives(const std::vector<std::string>& commands) {
        const Queue queue = store_->queue("work");
        std::vector<NewMessage> batch(400, NewMessage{Json{"1"}, {}});
        queue.enqueue(batch);
        std::atomic<int> done = 0;
        std::latch some(100);
        std::latch go(1);
        const auto handler = [&](const Message&) {
            if (const int n = ++done; n <= 100) {
                some.count_down();
            } else {
                go.wait();
            }
        };
        auto made = worker("w").on_message("work", handler).lease(1s).create(*store_);
        made.start();
        some.wait();
        hit(commands, go);
        EXPECT_TRUE(eventually([&] { return queue.stats().archived == 400; }));
        EXPECT_EQ(queue.stats().dead, 0);
        made.stop();
        EXPECT_EQ(store_->worker_info(made.id()).status, WorkerStatus::stopped);
    }

    // Executes 100 runs of three steps; the server is hit in the middle of their second steps.
    void runs_survive(const std::vector<std::string>& commands) {
        store_->create_workflow("job", {.max_strikes = 100});
        store_->trigger(std::vector(100, NewRun{"job", {}, {}}));
        std::atomic<int> first = 0;
        std::latch some(8);
        std::latch go(1);
        const auto function = [&](Context& ctx) {
            ctx.step("first", [&] { ++first; });
            ctx.step("second", [&] {
                if (!go.try_wait()) some.count_down();  // eight threads, all of them wait
                go.wait();
            });
            return ctx.step("third", [] { return 3; });
        };
        auto made = worker("w").handle("job", function).concurrency(8).lease(1s).create(*store_);
        made.start();
        some.wait();
        hit(commands, go);
        EXPECT_TRUE(eventually([&] { return store_->count_runs().success == 100; }));
        for (const RunInfo& run : store_->runs()) EXPECT_EQ(run.output, Json{"3"});
        EXPECT_GE(first, 100);
        made.stop();
    }

    // Like a server that became a standby, or whose disk is full.
    void set_read_only(bool read_only) const {
        const auto sql = open_postgres_database(cluster_.url());
        sql->run("set default_transaction_read_only = off");
        sql->run(
            std::string("alter system set default_transaction_read_only = ") +
            (read_only ? "on" : "off")
        );
        sql->run("select pg_reload_conf()");
    }

    LogLines log_;
    Cluster cluster_;
    Place place_;
    std::optional<Store> store_;
};

TEST_F(RestartTest, a_worker_continues_after_a_restart_of_the_server) {
    survives({"restart"});
}

TEST_F(RestartTest, a_worker_continues_after_a_crash_of_the_server) {
    survives({"stop-immediate", "start"});
}

TEST_F(RestartTest, a_worker_continues_after_the_server_was_killed) {
    survives({"kill", "start"});
}

TEST_F(RestartTest, runs_continue_after_a_restart_of_the_server) {
    runs_survive({"restart"});
}

TEST_F(RestartTest, runs_continue_after_the_server_was_killed) {
    runs_survive({"kill", "start"});
}

TEST_F(RestartTest, a_waiting_run_wait_continues_after_a_restart) {
    store_->create_workflow("job");
    auto made =
        worker("w").handle(
                       "job", [](Context& ctx) { return ctx.pause<int>("ask", "how many?"); }
        ).create(*store_);
    made.start();
    const auto run = pawl::workflow("job").trigger().execute(*store_);
    ASSERT_TRUE(eventually([&] { return run.status() == RunStatus::paused; }));
    std::jthread operator_thread([&] {
        cluster_.command("restart");
        ConnectOptions options;
        options.log = nullptr;
        connect(place_.url(), options).resume(run.id(), "ask", 5);
    });
    EXPECT_EQ(run.wait<int>(40s), 5);
}

TEST_F(RestartTest, a_waiting_dequeue_continues_after_a_restart) {
    const Queue queue = store_->queue("work");
    std::jthread operator_thread([&] {
        cluster_.command("restart");
        ConnectOptions options;
        options.log = nullptr;
        connect(place_.url(), options).queue("work").enqueue(Json{"1"});
    });
    EXPECT_EQ(queue.dequeue({.max_messages = 1, .wait = 40s}).size(), 1U);
}

TEST_F(RestartTest, enqueued_messages_survive_a_crash_of_the_server) {
    const Queue queue = store_->queue("work");
    for (int i = 0; i < 20; ++i) queue.enqueue(Json{"1"});
    cluster_.command("kill");
    cluster_.command("start");
    EXPECT_EQ(queue.stats().ready, 20);
}

TEST_F(RestartTest, a_step_that_ends_while_the_server_only_reads_is_recorded_later) {
    store_->create_workflow("job");
    std::atomic<int> bodies = 0;
    std::latch begun(1);
    std::latch go(1);
    auto made = worker("w")
                    .handle(
                        "job",
                        [&](Context& ctx) {
                            ctx.step("once", [&] {
                                if (++bodies == 1) begun.count_down();
                                go.wait();
                            });
                        }
                    )
                    .create(*store_);
    made.start();
    const Run run = workflow("job").trigger().execute(*store_);
    begun.wait();
    set_read_only(true);
    EXPECT_TRUE(eventually([&] {
        return open_postgres_database(cluster_.url())->value("show transaction_read_only") == "on";
    }));
    go.count_down();
    EXPECT_TRUE(eventually([&] {
        return log_.text().find("database does not answer") != std::string::npos;
    }));
    set_read_only(false);
    EXPECT_TRUE(eventually([&] { return run.status() == RunStatus::success; }));
    EXPECT_EQ(bodies, 1);
    made.stop();
}

}  // namespace
}  // namespace pawl::test
