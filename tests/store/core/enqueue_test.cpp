#include <map>
#include <pawl/json.h>

#include "support/store_test.h"

namespace pawl::test {
namespace {

class EnqueueTest : public StoreTest {
protected:
    void refuses(const std::string& payload, ErrorCode code) const {
        const Queue queue = make_queue();
        EXPECT_EQ(error_of([&] { queue.enqueue(Json{payload}); }).code(), code)
            << payload.substr(0, 50);
        EXPECT_EQ(queue.stats().ready, 0);
    }
};
PAWL_FOR_EACH_BACKEND(EnqueueTest);

TEST_P(EnqueueTest, a_message_is_there_when_enqueue_returns) {
    freeze();
    const Queue queue = make_queue();
    const MessageId id = queue.enqueue(Json{R"({"to":"ada"})"}, {.priority = 3});
    const auto message = open().queue("work").find(id);
    ASSERT_TRUE(message);
    EXPECT_EQ(message->payload, Json{R"({"to":"ada"})"});
    EXPECT_EQ(message->queue, "work");
    EXPECT_EQ(message->priority, 3);
    EXPECT_EQ(message->delivery, 0);
    EXPECT_EQ(message->strikes, 0);
    EXPECT_EQ(message->attempts, 0);
    EXPECT_EQ(message->state, MessageState::ready);
    EXPECT_EQ(message->enqueued_at, start);
    EXPECT_EQ(message->visible_at, start);
    EXPECT_FALSE(message->worker);
}

TEST_P(EnqueueTest, every_kind_of_json_value_is_returned_unchanged) {
    const Queue queue = make_queue();
    for (const std::string text :
         {"null",
          "true",
          "-0.5e-300",
          "\"\"",
          "[]",
          "{}",
          R"({"a":1,"a":2, "b" : [ ]})",
          R"("\u0000")",
          R"("\ud83d\ude00 grüße 日本")",
          "123456789012345678901234567890",
          " 1 "}) {
        const MessageId id = queue.enqueue(Json{text});
        EXPECT_EQ(queue.find(id)->payload.text, text);
    }
}

TEST_P(EnqueueTest, typed_values_travel_through_the_json_adapter) {
    const Queue queue = make_queue();
    const std::map<std::string, std::vector<int>> value{{"a", {1, 2}}, {"b", {}}};
    const MessageId id = queue.enqueue(value);
    EXPECT_EQ((queue.find(id)->as<std::map<std::string, std::vector<int>>>()), value);
    EXPECT_EQ(
        error_of([&] { (void)queue.find(id)->as<int>(); }).code(), ErrorCode::serialization_error
    );
}

TEST_P(EnqueueTest, a_batch_gets_ids_in_the_order_given) {
    const Queue queue = make_queue();
    const auto ids = enqueue_many(queue, 500);
    ASSERT_EQ(ids.size(), 500U);
    for (std::size_t i = 0; i < ids.size(); ++i) {
        ASSERT_TRUE(i == 0 || ids[i - 1] < ids[i]);
    }
    EXPECT_EQ(queue.find(ids[0])->payload.text, "0");
    EXPECT_EQ(queue.find(ids[499])->payload.text, "499");
    EXPECT_EQ(queue.stats().ready, 500);
}

TEST_P(EnqueueTest, an_empty_batch_is_nothing) {
    EXPECT_TRUE(make_queue().enqueue(std::span<const NewMessage>()).empty());
}

TEST_P(EnqueueTest, one_bad_element_refuses_the_batch_and_is_named) {
    const Queue queue = make_queue();
    std::vector<NewMessage> batch(100, NewMessage{Json{"1"}, {}});
    batch[57].payload = Json{"{"};
    const Error error = error_of([&] { queue.enqueue(batch); });
    EXPECT_EQ(error.code(), ErrorCode::invalid_payload);
    EXPECT_TRUE(contains(error.what(), "message 57"));
    batch[57] = {Json{"1"}, {.delay = -1s}};
    EXPECT_TRUE(contains(error_of([&] { queue.enqueue(batch); }).what(), "message 57"));
    EXPECT_EQ(queue.stats().ready, 0);
}

TEST_P(EnqueueTest, each_element_of_a_batch_has_its_own_options) {
    freeze();
    const Queue queue = make_queue();
    const std::vector<NewMessage> batch{
        {Json{"1"}, {.priority = -5}},
        {Json{"2"}, {.priority = 7, .delay = 10s}},
        {Json{"3"}, {.at = start + 20s}},
        {Json{"4"}, {.at = start - 20s}}};
    const auto ids = queue.enqueue(batch);
    EXPECT_EQ(queue.find(ids[0])->priority, -5);
    EXPECT_EQ(queue.find(ids[1])->visible_at, start + 10s);
    EXPECT_EQ(queue.find(ids[1])->state, MessageState::waiting);
    EXPECT_EQ(queue.find(ids[2])->visible_at, start + 20s);
    EXPECT_EQ(queue.find(ids[3])->visible_at, start) << "the past means now";
    EXPECT_EQ(queue.find(ids[3])->state, MessageState::ready);
}

TEST_P(EnqueueTest, a_delayed_message_is_invisible_until_its_time) {
    freeze();
    const Queue queue = make_queue();
    const MessageId id = queue.enqueue(Json{"1"}, {.delay = 10s});
    advance(9'999ms);
    EXPECT_TRUE(take(queue).empty());
    advance(1ms);
    EXPECT_EQ(take_one(queue).id, id);
}

TEST_P(EnqueueTest, a_message_for_a_time_is_invisible_until_then) {
    freeze();
    const Queue queue = make_queue();
    const MessageId id = queue.enqueue(Json{"1"}, {.at = start + 1h});
    EXPECT_TRUE(take(queue).empty());
    advance(1h);
    EXPECT_EQ(take_one(queue).id, id);
}

TEST_P(EnqueueTest, text_that_is_not_json_is_refused) {
    for (const std::string text :
         {"",
          " ",
          "{",
          "nul",
          "{'a':1}",
          "[1,]",
          "1 2",
          "\"a",
          "NaN",
          "01",
          "\xEF\xBB\xBF{",
          "\xEF\xBB\xBF{}",
          "\xEF\xBB\xBF"
          "1",
          "\"\t\""})
        refuses(text, ErrorCode::invalid_payload);
}

TEST_P(EnqueueTest, invalid_utf8_is_refused) {
    for (const std::string text : {"\"\xff\"", "\"\xc3\"", "\"\xed\xa0\x80\"", "\"\xc0\x80\""})
        refuses(text, ErrorCode::invalid_payload);
}

TEST_P(EnqueueTest, a_zero_byte_is_refused) {
    refuses(std::string("1\0", 2), ErrorCode::invalid_payload);
    refuses(std::string("\"\0\"", 3), ErrorCode::invalid_payload);
}

TEST_P(EnqueueTest, nesting_is_allowed_to_512_levels) {
    const auto nested = [](std::size_t depth) {
        return std::string(depth, '[') + std::string(depth, ']');
    };
    make_queue().enqueue(Json{nested(512)});
    store().queue("work").purge();
    refuses(nested(513), ErrorCode::invalid_payload);
    refuses(nested(200'000), ErrorCode::invalid_payload);
}

TEST_P(EnqueueTest, a_payload_of_one_mebibyte_fits_and_one_byte_more_does_not) {
    const Queue queue = make_queue();
    const std::string largest = '"' + std::string(1024 * 1024 - 2, 'x') + '"';
    const MessageId id = queue.enqueue(Json{largest});
    EXPECT_EQ(take_one(queue).payload.text, largest);
    EXPECT_EQ(queue.remove({{{id, 1}}}).front(), Outcome::done);
    refuses('"' + std::string(1024 * 1024 - 1, 'x') + '"', ErrorCode::payload_too_large);
}

TEST_P(EnqueueTest, the_limit_of_payloads_can_be_set) {
    auto small = options();
    small.max_payload_bytes = 4;
    make_queue();
    const Queue queue = connect(place().url(), small).queue("work");
    queue.enqueue(Json{"1234"});
    const Error error = error_of([&] { queue.enqueue(Json{"12345"}); });
    EXPECT_EQ(error.code(), ErrorCode::payload_too_large);
    EXPECT_TRUE(contains(error.what(), "the limit is 4"));
    EXPECT_EQ(queue.stats().ready, 1);
}

TEST_P(EnqueueTest, impossible_options_are_refused) {
    const Queue queue = make_queue();
    const auto refused = [&](const EnqueueOptions& options) {
        EXPECT_EQ(
            error_of([&] { queue.enqueue(Json{"1"}, options); }).code(), ErrorCode::invalid_argument
        );
    };
    refused({.priority = 1'000'001});
    refused({.priority = -1'000'001});
    refused({.delay = -1ms});
    refused({.delay = std::chrono::hours(24 * 366 * 200)});
    refused({.delay = 1s, .at = start});
    refused({.at = Timestamp(std::chrono::sys_days(std::chrono::year(10000) / 1 / 1))});
    EXPECT_EQ(queue.stats().ready, 0);
    queue.enqueue(Json{"1"}, {.priority = 1'000'000});
    queue.enqueue(Json{"2"}, {.priority = -1'000'000});
    EXPECT_EQ(take_one(queue).payload.text, "1");
}

TEST_P(EnqueueTest, producers_and_administrators_leave_no_worker_behind) {
    const Queue queue = make_queue();
    enqueue_many(queue, 3);
    queue.archive(take_one(queue));
    (void)store().stats();
    EXPECT_EQ(count(Rows::workers), 0);
}

TEST_P(EnqueueTest, ids_are_not_given_twice) {
    const Queue queue = make_queue("work", {.keep_archive = false});
    const MessageId first = queue.enqueue(Json{"1"});
    queue.remove(take_one(queue));
    EXPECT_GT(queue.enqueue(Json{"2"}), first);
}

}  // namespace
}  // namespace pawl::test
