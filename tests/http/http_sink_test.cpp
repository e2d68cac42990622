// The HTTP sink against real servers: working ones, and ones that fail, hang, refuse and hang up.
#include <csignal>
#include <nlohmann/json.hpp>
#include <pawl/pawl.h>
#include <set>

#include "http/http_server.h"
#include "http/raw_server.h"
#include "support/expect.h"
#include "support/place.h"
#include "support/process.h"

namespace pawl::test {
namespace {

using nlohmann::json;
using Kind = SinkResult::Kind;
using Mode = HttpSinkOptions::Mode;

OutboxEvent example() {
    OutboxEvent event;
    event.id = 7;
    event.event_id = "6f1d2c3b-0000-4000-8000-000000000001";
    event.type = "invoice.paid";
    event.payload = Json{R"({"total":12.50})"};
    event.aggregate = "invoice-42";
    event.subject = "invoice-42";
    event.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    event.created_at = std::chrono::sys_days(std::chrono::year(2026) / 1 / 31) + 12h;
    return event;
}

TEST(HttpSinkTest, structured_mode_sends_the_whole_event_as_the_body) {
    HttpServer server;
    const Sink sink = http_sink(server.url(), {.source = "billing"});
    EXPECT_EQ(sink(example()).kind, Kind::delivered);
    ASSERT_EQ(server.requests().size(), 1U);
    const httplib::Request seen = server.requests().front();
    EXPECT_EQ(seen.method, "POST");
    EXPECT_EQ(seen.path, "/events");
    EXPECT_EQ(seen.get_header_value("Content-Type"), "application/cloudevents+json");
    EXPECT_EQ(seen.body, to_cloud_event(example(), "billing").text);
    EXPECT_EQ(seen.get_header_value("traceparent"), *example().traceparent);
    EXPECT_FALSE(seen.has_header("ce-id"));
}

TEST(HttpSinkTest, binary_mode_sends_the_attributes_as_headers_and_the_payload_as_the_body) {
    HttpServer server;
    const Sink sink = http_sink(server.url(), {.mode = Mode::binary, .source = "billing"});
    const OutboxEvent event = example();
    EXPECT_EQ(sink(event).kind, Kind::delivered);
    const httplib::Request seen = server.requests().at(0);
    EXPECT_EQ(seen.body, R"({"total":12.50})");
    EXPECT_EQ(seen.get_header_value("Content-Type"), "application/json");
    EXPECT_EQ(seen.get_header_value("ce-specversion"), "1.0");
    EXPECT_EQ(seen.get_header_value("ce-id"), event.event_id);
    EXPECT_EQ(seen.get_header_value("ce-source"), "billing");
    EXPECT_EQ(seen.get_header_value("ce-type"), "invoice.paid");
    EXPECT_EQ(seen.get_header_value("ce-time"), "2026-01-31T12:00:00.000000Z");
    EXPECT_EQ(seen.get_header_value("ce-subject"), "invoice-42");
    EXPECT_EQ(seen.get_header_value("ce-traceparent"), *event.traceparent);
    EXPECT_FALSE(seen.has_header("ce-datacontenttype")) << "that is the Content-Type";
}

TEST(HttpSinkTest, in_headers_all_but_printable_ascii_is_percent_encoded) {
    const RawServer server(RawServer::Manners::answers);
    OutboxEvent event = example();
    event.subject = "Gr\xc3\xbc\xc3\x9f \"100%\"\r\nEvil: 1";
    EXPECT_EQ(http_sink(server.url(), {.mode = Mode::binary})(event).kind, Kind::delivered);
    const std::string wanted = "ce-subject: Gr%C3%BC%C3%9F%20%22100%25%22%0D%0AEvil:%201\r\n";
    EXPECT_TRUE(contains(server.received(), wanted));
}

TEST(HttpSinkTest, the_users_headers_login_and_query_are_sent) {
    HttpServer server;
    const std::string url = server.url();
    const std::string with_login =
        "http://ada:p%40ss@" + url.substr(std::string("http://").size()) + "?a=b+c;d";
    (void)http_sink(with_login, {.headers = {{"X-Team", "billing"}}})(example());
    (void)http_sink(with_login, {.headers = {{"Authorization", "Bearer x"}}})(example());
    const auto seen = server.requests();
    ASSERT_EQ(seen.size(), 2U);
    EXPECT_EQ(seen[0].target, "/events?a=b+c;d");
    EXPECT_EQ(seen[0].get_header_value("X-Team"), "billing");
    EXPECT_EQ(seen[0].get_header_value("Authorization"), "Basic YWRhOnBAc3M=");
    EXPECT_EQ(seen[1].get_header_value("Authorization"), "Bearer x");
    EXPECT_EQ(seen[1].get_header_value_count("Authorization"), 1U);
}

TEST(HttpSinkTest, the_answer_decides_over_delivered_again_or_never) {
    HttpServer server;
    const Sink sink = http_sink(server.url());
    const auto answered = [&](int status) {
        server.answer(status);
        const SinkResult result = sink(example());
        if (result.kind != Kind::delivered) {
            EXPECT_EQ(result.error, "the server answered " + std::to_string(status));
        }
        return result.kind;
    };
    for (const int status : {200, 201, 202, 204}) EXPECT_EQ(answered(status), Kind::delivered);
    for (const int status : {408, 429, 500, 502, 503, 504})
        EXPECT_EQ(answered(status), Kind::retry) << status;
    for (const int status : {301, 307, 400, 401, 403, 404, 410, 415})
        EXPECT_EQ(answered(status), Kind::reject) << status;
}

TEST(HttpSinkTest, retry_after_is_read) {
    HttpServer server;
    server.answer([](const httplib::Request&, httplib::Response& response) {
        response.status = 429;
        response.set_header("Retry-After", "17");
    });
    const SinkResult result = http_sink(server.url())(example());
    EXPECT_EQ(result.kind, Kind::retry);
    EXPECT_EQ(result.retry_after, 17s);
    server.answer(503);
    EXPECT_EQ(http_sink(server.url())(example()).retry_after, std::nullopt);
}

TEST(HttpSinkTest, a_server_that_hangs_is_given_up_after_the_timeout) {
    HttpServer server;
    server.hang();
    const SinkResult result = http_sink(server.url(), {.timeout = 100ms})(example());
    EXPECT_EQ(result.kind, Kind::retry);
    EXPECT_EQ(result.error, "no answer within 100 ms");
}

TEST(HttpSinkTest, an_answer_without_end_is_cut_off_and_counts) {
    HttpServer server;
    server.answer([](const httplib::Request&, httplib::Response& response) {
        response.set_chunked_content_provider(
            "text/plain",
            [](std::size_t, httplib::DataSink& out) {
                const std::string block(8192, 'x');
                return out.write(block.data(), block.size());
            }
        );
    });
    EXPECT_EQ(http_sink(server.url())(example()).kind, Kind::delivered);
}

// The sink's result for an answer, within its limits, which are far below 30 s.
SinkResult of_answer(const RawServer::Answer& answer, Duration timeout = 30s) {
    const RawServer server(answer);
    const auto began_at = std::chrono::steady_clock::now();
    const SinkResult result = http_sink(server.url(), {.timeout = timeout})(example());
    EXPECT_LT(std::chrono::steady_clock::now() - began_at, 20s);
    return result;
}

void send_forever(const RawServer::Send& send, const std::string& part) {
    while (send(part)) {
    }
}

// A few bytes every 20 ms: a timeout per read would never expire.
void send_slowly(const RawServer::Send& send, const std::string& part) {
    while (send(part)) std::this_thread::sleep_for(20ms);
}

TEST(HttpSinkTest, headers_without_end_are_cut_off) {
    const SinkResult result = of_answer([](const RawServer::Send& send) {
        send("HTTP/1.1 200 OK\r\n");
        send_forever(send, "X-Header: " + std::string(1000, 'x') + "\r\n");
    });
    EXPECT_EQ(result.kind, Kind::retry);
    EXPECT_EQ(result.error, "the headers of the answer exceed 65536 bytes");
}

TEST(HttpSinkTest, interim_answers_without_end_are_cut_off) {
    const SinkResult result = of_answer([](const RawServer::Send& send) {
        send_forever(send, "HTTP/1.1 100 Continue\r\n\r\n");
    });
    EXPECT_EQ(result.kind, Kind::retry);
    EXPECT_EQ(result.error, "the headers of the answer exceed 65536 bytes");
}

TEST(HttpSinkTest, a_header_or_status_line_without_end_is_cut_off) {
    for (const std::string begin : {"HTTP/1.1 200 ", "HTTP/1.1 200 OK\r\nX-Header: "}) {
        const SinkResult result = of_answer([&](const RawServer::Send& send) {
            send(begin);
            send_forever(send, std::string(1000, 'x'));
        });
        EXPECT_EQ(result.kind, Kind::retry);
        EXPECT_EQ(result.error, "a line of the answer's headers is too long");
    }
}

TEST(HttpSinkTest, the_timeout_is_for_the_whole_call) {
    for (const std::string begin :
         {"HTTP/1.1 200 ", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nX-Header: "}) {
        const std::string part = begin.ends_with("\n") ? "A: b\r\n" : "x";
        const SinkResult result = of_answer(
            [&](const RawServer::Send& send) {
                send(begin);
                send_slowly(send, part);
            },
            300ms
        );
        EXPECT_EQ(result.kind, Kind::retry) << begin;
        EXPECT_EQ(result.error, "no answer within 300 ms") << begin;
    }
}

TEST(HttpSinkTest, a_body_without_end_is_cut_off_and_its_status_counts) {
    const auto answered = [](const std::string& status, Duration timeout, const auto& send_body) {
        return of_answer(
            [&](const RawServer::Send& send) {
                send("HTTP/1.1 " + status + " Some\r\nContent-Type: text/plain\r\n\r\n");
                send_body(send, std::string("x"));
            },
            timeout
        );
    };
    EXPECT_EQ(answered("200", 300ms, send_slowly).kind, Kind::delivered);
    EXPECT_EQ(answered("200", 30s, send_forever).kind, Kind::delivered);
    EXPECT_EQ(answered("500", 300ms, send_slowly).error, "the server answered 500");
    EXPECT_EQ(answered("400", 30s, send_forever).kind, Kind::reject);
}

TEST(HttpSinkTest, an_answer_that_is_not_http_is_an_error_that_is_retried) {
    const SinkResult result =
        of_answer([](const RawServer::Send& send) { send("220 mail.example.org ESMTP\r\n"); });
    EXPECT_EQ(result.kind, Kind::retry);
    EXPECT_EQ(result.error, "the answer is not HTTP");
}

TEST(HttpSinkTest, a_refused_connection_is_an_error_that_is_retried) {
    std::string url;
    {
        const HttpServer gone;
        url = gone.url();
    }
    const SinkResult result = http_sink(url)(example());
    EXPECT_EQ(result.kind, Kind::retry);
    EXPECT_EQ(result.error, "the server cannot be reached");
}

TEST(HttpSinkTest, a_dropped_connection_is_retried_and_does_not_end_the_process) {
    const RawServer server(RawServer::Manners::hangs_up);
    const Sink sink = http_sink(server.url());
    OutboxEvent event = example();
    event.payload = Json{"\"" + std::string(4 * 1024 * 1024, 'x') + "\""};
    auto* const before = std::signal(SIGPIPE, SIG_DFL);  // a broken pipe would end the test here
    for (int i = 0; i < 5; ++i) {
        const SinkResult result = sink(event);
        EXPECT_EQ(result.kind, Kind::retry);
        EXPECT_TRUE(contains(result.error, "the connection was lost"));
    }
    std::signal(SIGPIPE, before);
}

TEST(HttpSinkTest, connections_are_used_again_and_a_lost_one_is_replaced) {
    HttpServer server;
    const Sink sink = http_sink(server.url());
    std::set<int> ports;
    for (int i = 0; i < 3; ++i) EXPECT_EQ(sink(example()).kind, Kind::delivered);
    for (const auto& seen : server.requests()) ports.insert(seen.remote_port);
    EXPECT_EQ(ports.size(), 1U);
    server.answer([](const httplib::Request&, httplib::Response& response) {
        response.set_header("Connection", "close");
    });
    for (int i = 0; i < 3; ++i) EXPECT_EQ(sink(example()).kind, Kind::delivered);
}

TEST(HttpSinkTest, threads_may_share_a_sink) {
    HttpServer server;
    const Sink sink = http_sink(server.url());
    {
        std::vector<std::jthread> senders;
        for (int i = 0; i < 4; ++i)
            senders.emplace_back([&] {
                for (int n = 0; n < 10; ++n) EXPECT_EQ(sink(example()).kind, Kind::delivered);
            });
    }
    EXPECT_EQ(server.requests().size(), 40U);
}

TEST(HttpSinkTest, options_that_cannot_work_are_refused_without_showing_secrets) {
    const auto refused = [](const std::string& url, const HttpSinkOptions& options) {
        const Error error = error_of([&] { (void)http_sink(url, options); });
        EXPECT_EQ(std::string(error.what()).find("secret"), std::string::npos);
        return error.code();
    };
    EXPECT_EQ(refused("example.org", {}), ErrorCode::invalid_url);
    EXPECT_EQ(refused("ftp://u:secret@example.org", {}), ErrorCode::invalid_url);
    EXPECT_EQ(refused("http://h", {.timeout = 0s}), ErrorCode::invalid_argument);
    EXPECT_EQ(
        refused("http://h", {.headers = {{"X", "secret\r\nEvil: 1"}}}), ErrorCode::invalid_argument
    );
    EXPECT_EQ(refused("http://h", {.headers = {{"a b", "1"}}}), ErrorCode::invalid_argument);
}

TEST(HttpSinkTest, errors_of_a_delivery_show_neither_login_nor_headers) {
    HttpServer server;
    server.answer([](const httplib::Request& request, httplib::Response& response) {
        response.status = 500;
        response.set_content(request.get_header_value("Authorization"), "text/plain");
    });
    const std::string url = "http://ada:secret@127.0.0.1:" + std::to_string(server.port());
    const SinkResult result = http_sink(url, {.headers = {{"X-Key", "secret"}}})(example());
    EXPECT_EQ(result.error, "the server answered 500");
}

class TlsSinkTest : public ::testing::Test {
protected:
    // A self-signed certificate for the host, created by the openssl command.
    void make_certificate(const std::string& name) {
        const Finished made = run(
            {"openssl",
             "req",
             "-x509",
             "-newkey",
             "rsa:2048",
             "-nodes",
             "-days",
             "2",
             "-subj",
             "/CN=" + name,
             "-addext",
             "subjectAltName=" + std::string(name == "127.0.0.1" ? "IP:" : "DNS:") + name,
             "-keyout",
             key_,
             "-out",
             certificate_}
        );
        ASSERT_EQ(made.code, 0) << made.err;
    }
    TempDirectory directory_;
    std::string certificate_ = directory_.file("certificate.pem");
    std::string key_ = directory_.file("key.pem");
};

TEST_F(TlsSinkTest, a_self_signed_certificate_is_refused_by_default) {
    make_certificate("localhost");
    HttpServer server(certificate_, key_);
    const SinkResult result = http_sink(server.url("localhost"))(example());
    EXPECT_EQ(result.kind, Kind::retry);
    EXPECT_TRUE(contains(result.error, "the server's certificate is not trusted"));
    EXPECT_TRUE(server.requests().empty()) << "nothing was sent";
}

TEST_F(TlsSinkTest, it_is_accepted_if_the_ca_file_has_it) {
    make_certificate("localhost");
    HttpServer server(certificate_, key_);
    const Sink sink = http_sink(server.url("localhost"), {.ca_file = certificate_});
    for (int i = 0; i < 2; ++i) {
        const SinkResult result = sink(example());
        EXPECT_EQ(result.kind, Kind::delivered) << result.error;
    }
    EXPECT_EQ(server.requests().size(), 2U);
}

TEST_F(TlsSinkTest, a_trusted_certificate_of_another_host_is_refused) {
    make_certificate("elsewhere.example");
    HttpServer server(certificate_, key_);
    const SinkResult result =
        http_sink(server.url("localhost"), {.ca_file = certificate_})(example());
    EXPECT_EQ(result.kind, Kind::retry);
    EXPECT_TRUE(contains(result.error, "it was issued for another host"));
    EXPECT_TRUE(server.requests().empty());
}

TEST_F(TlsSinkTest, verification_can_be_switched_off) {
    make_certificate("elsewhere.example");
    HttpServer server(certificate_, key_);
    const SinkResult result = http_sink(server.url("localhost"), {.verify_tls = false})(example());
    EXPECT_EQ(result.kind, Kind::delivered) << result.error;
}

TEST_F(TlsSinkTest, a_ca_file_that_is_not_there_is_an_error) {
    make_certificate("localhost");
    HttpServer server(certificate_, key_);
    const SinkResult result =
        http_sink(server.url("localhost"), {.ca_file = directory_.file("nothing")})(example());
    EXPECT_EQ(result.kind, Kind::retry);
    EXPECT_TRUE(contains(result.error, "certificate")) << result.error;
    EXPECT_TRUE(server.requests().empty());
}

}  // namespace
}  // namespace pawl::test
