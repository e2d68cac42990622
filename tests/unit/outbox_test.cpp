// The pure parts of the outbox: CloudEvents, addresses, Retry-After, the file sink.
#include <filesystem>
#include <fstream>
#include <pawl/json.h>
#include <pawl/outbox.h>
#include <set>
#include <thread>

#include "base/random.h"
#include "model/http_retry_after.h"
#include "sinks/http_url.h"
#include "support/expect.h"
#include "support/place.h"

namespace pawl::test {
namespace {

using std::chrono::sys_days;

OutboxEvent example() {
    OutboxEvent event;
    event.event_id = "6f1d2c3b-0000-4000-8000-000000000001";
    event.type = "invoice.paid";
    event.payload = Json{R"({"total":12345678901234567890.10})"};
    event.aggregate = "invoice-42";
    event.subject = "invoice-42";
    event.created_at = sys_days(std::chrono::year(2026) / 1 / 31) + 12h + 5min + 9s +
                       std::chrono::microseconds(42);
    return event;
}

TEST(CloudEventTest, it_has_the_attributes_of_version_1_and_the_payload_byte_for_byte) {
    EXPECT_EQ(
        to_cloud_event(example(), "billing").text,
        R"({"specversion":"1.0","id":"6f1d2c3b-0000-4000-8000-000000000001","source":"billing",)"
        R"("type":"invoice.paid","time":"2026-01-31T12:05:09.000042Z","subject":"invoice-42",)"
        R"("datacontenttype":"application/json","data":{"total":12345678901234567890.10}})"
    );
}

TEST(CloudEventTest, missing_members_are_omitted_and_a_trace_is_passed_on) {
    OutboxEvent event = example();
    event.subject.clear();
    EXPECT_FALSE(nlohmann::json::parse(to_cloud_event(event, "x").text).contains("subject"));
    EXPECT_FALSE(nlohmann::json::parse(to_cloud_event(event, "x").text).contains("traceparent"));
    event.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    EXPECT_EQ(
        nlohmann::json::parse(to_cloud_event(event, "x").text)["traceparent"], *event.traceparent
    );
}

TEST(CloudEventTest, a_payload_that_is_not_json_cannot_change_the_envelope) {
    OutboxEvent event = example();
    for (const std::string payload :
         {R"(1,"type":"forged")",
          R"(1},"type":"forged","data":{)",
          "no json",
          "",
          "\xEF\xBB\xBF"
          "1"}) {
        event.payload.text = payload;
        const auto parsed = nlohmann::json::parse(to_cloud_event(event, "billing").text);
        EXPECT_EQ(parsed["type"], event.type);
        EXPECT_EQ(parsed["data"], payload);
    }
}

TEST(CloudEventTest, texts_are_escaped) {
    OutboxEvent event = example();
    event.type = "a\"b\\c\n\xc3\xa9";
    const nlohmann::json parsed = nlohmann::json::parse(to_cloud_event(event, "so\"urce").text);
    EXPECT_EQ(parsed["type"], event.type);
    EXPECT_EQ(parsed["source"], "so\"urce");
}

TEST(UuidTest, it_is_of_version_4_and_no_two_are_the_same) {
    std::set<std::string> seen;
    for (int i = 0; i < 10'000; ++i) {
        const std::string id = base::random_uuid();
        ASSERT_EQ(id.size(), 36U);
        ASSERT_EQ(id.find_first_not_of("0123456789abcdef-"), std::string::npos) << id;
        ASSERT_EQ(id[14], '4') << id;
        ASSERT_TRUE(id[19] == '8' || id[19] == '9' || id[19] == 'a' || id[19] == 'b') << id;
        ASSERT_EQ(id[8], '-') << id;
        ASSERT_TRUE(seen.insert(id).second);
    }
}

TEST(RetryAfterTest, seconds_and_dates_are_understood) {
    const auto now = sys_days(std::chrono::year(1994) / 11 / 6) + 8h + 49min + 37s;
    EXPECT_EQ(model::retry_after("0", now), 0s);
    EXPECT_EQ(model::retry_after(" 120\t", now), 120s);
    EXPECT_EQ(model::retry_after("Sun, 06 Nov 1994 08:50:37 GMT", now), 60s);
    EXPECT_EQ(model::retry_after("Sun, 06 Nov 1994 08:49:36 GMT", now), 0s) << "it has passed";
    EXPECT_EQ(model::retry_after("99999999999999999999", now), 24h) << "at most a day";
    EXPECT_EQ(model::retry_after("Sun, 06 Nov 2094 08:49:36 GMT", now), 24h);
}

TEST(RetryAfterTest, other_values_are_ignored) {
    const auto now = sys_days(std::chrono::year(1994) / 11 / 6);
    for (const char* text :
         {"",
          "  ",
          "soon",
          "-1",
          "1.5",
          "Sun, 06 Foo 1994 08:49:37 GMT",
          "Sun, 36 Nov 1994 08:49:37 GMT",
          "Sun, 06 Nov 1994 25:49:37 GMT",
          "Sunday, 06-Nov-94 08:49:37 GMT",
          "Sun, 06 Nov 1994 08:49:37 UTC"})
        EXPECT_EQ(model::retry_after(text, now), std::nullopt) << text;
}

TEST(HttpUrlTest, its_parts_are_found) {
    const auto plain = sinks::parse_http_url("http://example.org");
    EXPECT_FALSE(plain.secure);
    EXPECT_EQ(plain.host, "example.org");
    EXPECT_EQ(plain.port, 80);
    EXPECT_EQ(plain.target, "/");
    EXPECT_FALSE(plain.login);
    const auto full =
        sinks::parse_http_url("https://ada:p%40ss@example.org:8443/events/in?a=b+c&d=%20#part");
    EXPECT_TRUE(full.secure);
    EXPECT_EQ(full.host, "example.org");
    EXPECT_EQ(full.port, 8443);
    EXPECT_EQ(full.target, "/events/in?a=b+c&d=%20");
    ASSERT_TRUE(full.login);
    EXPECT_EQ(full.login->user, "ada");
    EXPECT_EQ(full.login->password, "p@ss");
    const auto address = sinks::parse_http_url("https://[::1]?x");
    EXPECT_EQ(address.host, "::1");
    EXPECT_EQ(address.port, 443);
    EXPECT_EQ(address.target, "/?x");
}

TEST(HttpUrlTest, an_invalid_url_is_refused_without_showing_a_password) {
    for (const char* text :
         {"",
          "example.org",
          "ftp://secret@example.org",
          "http://",
          "http://secret@/x",
          "http://a:0",
          "http://a:65536",
          "http://a:x",
          "http://a b",
          "http://[::1",
          "http://[::1]x",
          "http://u:secret%4@h",
          "http://a\r\nX: secret"}) {
        const Error error = error_of([&] { (void)sinks::parse_http_url(text); });
        EXPECT_EQ(error.code(), ErrorCode::invalid_url) << text;
        EXPECT_EQ(std::string(error.what()).find("secret"), std::string::npos) << error.what();
    }
}

class FileSinkTest : public ::testing::Test {
protected:
    [[nodiscard]] std::vector<std::string> lines() const {
        std::vector<std::string> all;
        std::ifstream file(path_);
        for (std::string line; std::getline(file, line);) all.push_back(line);
        return all;
    }
    TempDirectory directory_;
    std::string path_ = directory_.file("events.jsonl");
};

TEST_F(FileSinkTest, each_event_is_one_line) {
    const Sink sink = file_sink(path_, "billing");
    OutboxEvent event = example();
    EXPECT_EQ(sink(event).kind, SinkResult::Kind::delivered);
    event.payload = Json{"{\n  \"pretty\": \"a\\nb\"\r\n}"};
    EXPECT_EQ(sink(event).kind, SinkResult::Kind::delivered);
    ASSERT_EQ(lines().size(), 2U);
    EXPECT_EQ(lines()[0], to_cloud_event(example(), "billing").text);
    EXPECT_EQ(nlohmann::json::parse(lines()[1])["data"]["pretty"], "a\nb");
}

TEST_F(FileSinkTest, an_unfinished_line_is_ended_first) {
    std::ofstream(path_) << "{\"half\":";
    (void)file_sink(path_)(example());
    ASSERT_EQ(lines().size(), 2U);
    EXPECT_EQ(lines()[0], "{\"half\":");
    EXPECT_EQ(nlohmann::json::parse(lines()[1])["type"], "invoice.paid");
}

TEST_F(FileSinkTest, threads_do_not_mix_their_lines) {
    const Sink sink = file_sink(path_);
    {
        std::vector<std::jthread> writers;
        for (int i = 0; i < 4; ++i)
            writers.emplace_back([&] {
                for (int n = 0; n < 25; ++n) (void)sink(example());
            });
    }
    EXPECT_EQ(lines().size(), 100U);
    for (const std::string& line : lines()) EXPECT_TRUE(nlohmann::json::accept(line));
}

TEST_F(FileSinkTest, a_file_that_cannot_be_written_is_an_exception_that_the_dispatcher_retries) {
    const Sink sink = file_sink(directory_.file("missing/events.jsonl"));
    EXPECT_THROW((void)sink(example()), std::exception);
    EXPECT_EQ(error_of([] { (void)file_sink(""); }).code(), ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace pawl::test
