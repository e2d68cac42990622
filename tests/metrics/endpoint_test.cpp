// The endpoint: its address, its lifetime, and what it refuses.
#include <arpa/inet.h>
#include <httplib.h>
#include <pawl/json.h>
#include <sys/socket.h>
#include <unistd.h>

#include "metrics/metrics_test.h"

namespace pawl::test {
namespace {

// Connects and sends nothing.
class SilentClient {
public:
    explicit SilentClient(int port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        address.sin_port = htons(static_cast<std::uint16_t>(port));
        const auto* const at = reinterpret_cast<const sockaddr*>(&address);
        if (::connect(socket_, at, sizeof address) != 0) std::abort();
    }
    ~SilentClient() { ::close(socket_); }
    SilentClient(const SilentClient&) = delete;
    SilentClient& operator=(const SilentClient&) = delete;

private:
    int socket_;
};

class MetricsEndpointTest : public MetricsTest {
protected:
    void SetUp() override {
        MetricsTest::SetUp();
        make_workflow();
    }
    [[nodiscard]] WorkerBuilder named(const std::string& name) const {
        return worker(name).handle("job", [](Context&) {});
    }
};
PAWL_FOR_EACH_BACKEND(MetricsEndpointTest);

TEST_P(MetricsEndpointTest, it_is_there_from_create_to_stop) {
    auto made = named("w").metrics(0).create(store());
    const int port = made.metrics_port();
    EXPECT_GT(port, 0);
    EXPECT_TRUE(answers(port));
    made.start();
    EXPECT_TRUE(answers(port));
    made.stop();
    EXPECT_FALSE(answers(port));
    EXPECT_EQ(made.metrics_port(), 0);
}

TEST_P(MetricsEndpointTest, a_worker_without_metrics_has_no_port) {
    auto made = named("w").create(store());
    EXPECT_EQ(made.metrics_port(), 0);
}

TEST_P(MetricsEndpointTest, it_listens_only_on_loopback_by_default) {
    auto made = named("w").metrics(0).create(store());
    // All of 127/8 is this host: a server that listens only on 127.0.0.1 does not answer on another
    // address.
    httplib::Client elsewhere("127.0.0.2", made.metrics_port());
    EXPECT_FALSE(elsewhere.Get("/metrics"));
    auto open_to_all = named("w").metrics(0, "0.0.0.0").create(store());
    EXPECT_EQ(scrape(open_to_all.metrics_port(), "127.0.0.2").value("pawl_store_up"), 1);
}

TEST_P(MetricsEndpointTest, only_metrics_is_served) {
    auto made = named("w").metrics(0).create(store());
    httplib::Client client("127.0.0.1", made.metrics_port());
    for (const char* path : {"/", "/metric", "/etc/passwd", "/../../etc/passwd"}) {
        const auto answer = client.Get(path);
        ASSERT_TRUE(answer) << path;
        EXPECT_GE(answer->status, 400) << path;
    }
}

TEST_P(MetricsEndpointTest, silent_clients_do_not_delay_a_scrape) {
    auto made = named("w").metrics(0).create(store());
    std::vector<std::unique_ptr<SilentClient>> silent;
    for (int i = 0; i < 7; ++i)
        silent.push_back(std::make_unique<SilentClient>(made.metrics_port()));
    const auto began_at = std::chrono::steady_clock::now();
    EXPECT_EQ(scraped(made).value("pawl_store_up"), 1);
    made.stop();
    EXPECT_LT(std::chrono::steady_clock::now() - began_at, 20s)
        << "a client holds a thread for 30 s by default";
}

TEST_P(MetricsEndpointTest, a_port_in_use_is_a_clear_error_and_registers_no_worker) {
    auto first = named("first").metrics(0).create(store());
    const auto before = store().workers().size();
    const Error error =
        error_of([&] { (void)named("second").metrics(first.metrics_port()).create(store()); });
    EXPECT_EQ(error.code(), ErrorCode::listen_failed);
    EXPECT_TRUE(contains(error.what(), "worker 'second'"));
    EXPECT_TRUE(contains(error.what(), "127.0.0.1:" + std::to_string(first.metrics_port())));
    EXPECT_EQ(store().workers().size(), before);
    const int port = first.metrics_port();
    first.stop();
    auto third = named("third").metrics(port).create(store());
    EXPECT_EQ(third.metrics_port(), port) << "it is free again";
}

TEST_P(MetricsEndpointTest, an_address_that_is_not_ours_is_a_clear_error) {
    const Error error = error_of([&] { (void)named("w").metrics(0, "192.0.2.1").create(store()); });
    EXPECT_EQ(error.code(), ErrorCode::listen_failed);
    EXPECT_TRUE(contains(error.what(), "192.0.2.1"));
}

TEST_P(MetricsEndpointTest, bad_options_are_refused_before_anything_listens) {
    for (const MetricsOptions& bad : std::vector<MetricsOptions>{
             {.port = -1},
             {.port = 65'536},
             {.address = ""},
             {.address = "localhost"},
             {.address = "127.0.0.1:80,0.0.0.0"},
             {.refresh = -1ms}}) {
        const Error error = error_of([&] { (void)named("w").metrics(bad).create(store()); });
        EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
        EXPECT_TRUE(contains(error.what(), "metrics: "));
    }
    EXPECT_TRUE(store().workers().empty());
}

TEST_P(MetricsEndpointTest, two_workers_of_a_process_have_different_labels) {
    make_workflow("other");
    auto first = named("first").metrics(fresh()).create(store());
    auto second =
        worker("second").handle("other", [](Context&) {}).metrics(fresh()).create(store());
    ASSERT_NE(first.metrics_port(), second.metrics_port());
    (void)trigger_many(3);
    (void)trigger("other");
    first.poll_once();
    second.poll_once();
    const LabelSet by_first{{"worker", "first"}, {"workflow", "job"}, {"outcome", "success"}};
    const LabelSet by_second{{"worker", "second"}, {"workflow", "other"}, {"outcome", "success"}};
    EXPECT_EQ(scraped(first).value("pawl_runs_total", by_first), 3);
    EXPECT_EQ(scraped(second).value("pawl_runs_total", by_second), 1);
    EXPECT_EQ(scraped(first).find("pawl_runs_total", by_second), std::nullopt);
    first.stop();
    EXPECT_EQ(scraped(second).value("pawl_store_up"), 1) << "the other one continues";
}

TEST_P(MetricsEndpointTest, a_workers_name_may_hold_anything) {
    auto made = named("it's \"w\" \\ {1}").metrics(0).create(store());
    httplib::Client client("127.0.0.1", made.metrics_port());
    const auto answer = client.Get("/metrics");
    ASSERT_TRUE(answer);
    EXPECT_TRUE(contains(answer->body, R"(worker="it's \"w\" \\ {1}")"));
}

}  // namespace
}  // namespace pawl::test
