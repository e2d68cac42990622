// End to end: published, dispatched, received by a real server.
#include <pawl/json.h>

#include "http/http_server.h"
#include "http/raw_server.h"
#include "support/outbox_test.h"

namespace pawl::test {
namespace {

class HttpDispatchTest : public OutboxStoreTest {
protected:
    int dispatch() const {
        return dispatcher(store(), http_sink(server_.url(), {.timeout = 5s})).dispatch_once();
    }
    [[nodiscard]] std::vector<std::string> received() const {
        std::vector<std::string> types;
        for (const auto& request : server_.requests())
            types.push_back(nlohmann::json::parse(request.body)["type"]);
        return types;
    }
    HttpServer server_;
};
PAWL_FOR_EACH_BACKEND(HttpDispatchTest);

TEST_P(HttpDispatchTest, events_arrive_in_order_with_their_ids) {
    publish("a", 3);
    EXPECT_EQ(dispatch(), 3);
    EXPECT_EQ(received(), (std::vector<std::string>{"a-1", "a-2", "a-3"}));
    const auto first = nlohmann::json::parse(server_.requests().at(0).body);
    EXPECT_EQ(first["id"], event("a-1").event_id);
    EXPECT_EQ(first["subject"], "a");
    EXPECT_EQ(first["data"], 1);
    EXPECT_EQ(first["time"], "2030-01-02T00:00:00.000000Z");
}

TEST_P(HttpDispatchTest, a_429_is_retried_at_the_time_that_the_server_names) {
    publish("a", 1);
    server_.answer([](const httplib::Request&, httplib::Response& response) {
        response.status = 429;
        response.set_header("Retry-After", "90");
    });
    EXPECT_EQ(dispatch(), 0);
    EXPECT_EQ(event("a-1").visible_at, start + 90s);
    EXPECT_EQ(event("a-1").last_error, "the server answered 429");
    server_.answer(200);
    advance(89s);
    EXPECT_EQ(dispatch(), 0);
    advance(1s);
    EXPECT_EQ(dispatch(), 1);
    EXPECT_EQ(server_.requests().size(), 2U);
}

TEST_P(HttpDispatchTest, a_server_that_hangs_holds_nothing_back_but_its_aggregate) {
    publish("a", 1);
    server_.hang();
    EXPECT_EQ(dispatcher(store(), http_sink(server_.url(), {.timeout = 100ms})).dispatch_once(), 0);
    EXPECT_EQ(event("a-1").status, OutboxStatus::pending);
    EXPECT_EQ(event("a-1").last_error, "no answer within 100 ms");
    server_.answer(200);
    server_.let_go();
    advance(10s);
    EXPECT_EQ(dispatch(), 1);
    const auto sent = server_.requests();
    ASSERT_EQ(sent.size(), 2U) << "at least once: the first may have arrived";
    EXPECT_EQ(nlohmann::json::parse(sent[0].body)["id"], nlohmann::json::parse(sent[1].body)["id"]);
}

TEST_P(HttpDispatchTest, a_server_that_hangs_up_is_tried_again) {
    const RawServer rude(RawServer::Manners::hangs_up);
    publish("a", 1);
    EXPECT_EQ(dispatcher(store(), http_sink(rude.url())).dispatch_once(), 0);
    EXPECT_EQ(event("a-1").status, OutboxStatus::pending);
    EXPECT_TRUE(contains(event("a-1").last_error, "the connection was lost"));
    advance(10s);
    EXPECT_EQ(dispatch(), 1);
}

TEST_P(HttpDispatchTest, a_500_is_tried_again_and_a_400_parks) {
    publish("a", 2);
    server_.answer(500);
    dispatch();
    EXPECT_EQ(received(), std::vector<std::string>{"a-1"});
    server_.answer(400);
    advance(10s);
    dispatch();
    EXPECT_EQ(event("a-1").status, OutboxStatus::parked);
    EXPECT_EQ(event("a-1").last_error, "the server answered 400");
    EXPECT_EQ(event("a-2").status, OutboxStatus::parked);
}

}  // namespace
}  // namespace pawl::test
