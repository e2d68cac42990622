// Types that have a JSON form without a line of the user's: what a step returns the first time, a
// replay returns too, on every store.
#include <chrono>
#include <optional>
#include <pawl/json.h>
#include <string>

#include "support/workflow_test.h"

namespace pawl::test {
namespace {

using std::chrono::system_clock;

enum class ParcelSize { small, large };
NLOHMANN_JSON_SERIALIZE_ENUM(
    ParcelSize, {{ParcelSize::small, "small"}, {ParcelSize::large, "large"}}
)

struct TimedDelivery {
    std::optional<std::string> note;
    std::optional<int> floor;
    system_clock::time_point at;
    Timestamp recorded;
    std::chrono::nanoseconds taken{};
    std::chrono::duration<double> weight{};
    ParcelSize size = ParcelSize::small;
    friend bool operator==(const TimedDelivery&, const TimedDelivery&) = default;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TimedDelivery, note, floor, at, recorded, taken, weight, size)

TimedDelivery timed_example() {
    using namespace std::chrono;
    const system_clock::time_point at = sys_days(2026y / 2 / 28) + 23h + 59min + 59'999'999'999ns;
    return {std::nullopt, 3, at, floor<microseconds>(at), 1'000'000'007ns, 0.1s, ParcelSize::large};
}

class JsonFormsTest : public WorkflowTest {
protected:
    void SetUp() override {
        WorkflowTest::SetUp();
        freeze();
        make_workflow();
    }

    // Executes a step that returns `value`, and replays it. Returns the stored text.
    template <class Value, class Body>
    std::string first_and_replayed(const Value& value, Body body) {
        const RunId run = trigger();
        std::vector<Value> seen;
        int executed = 0;
        auto made = worker_for([&](Context& ctx) {
            seen.push_back(ctx.step("value", [&] {
                ++executed;
                return body();
            }));
            if (ctx.delivery() == 1) throw TransientError("again");
        });
        made.poll_once();
        advance(1h);
        made.poll_once();
        EXPECT_EQ(status(run), RunStatus::success) << info(run).last_error;
        EXPECT_EQ(executed, 1);
        EXPECT_EQ(seen, (std::vector<Value>{value, value}));
        return step(run, "value").output.value_or(Json{"none"}).text;
    }
    template <class Value>
    std::string first_and_replayed(const Value& value) {
        return first_and_replayed(value, [&] { return value; });
    }
};
PAWL_FOR_EACH_BACKEND(JsonFormsTest);

TEST_P(JsonFormsTest, optionals_are_the_value_or_null) {
    EXPECT_EQ(first_and_replayed(std::optional<int>(7)), "7");
    EXPECT_EQ(first_and_replayed(std::optional<std::string>()), "null");
    using List = std::vector<std::optional<int>>;
    EXPECT_EQ(first_and_replayed(List{1, std::nullopt}), "[1,null]");
}

TEST_P(JsonFormsTest, durations_have_their_unit) {
    using namespace std::chrono;
    EXPECT_EQ(first_and_replayed(milliseconds(1500)), R"("1500ms")");
    EXPECT_EQ(first_and_replayed(hours(-2)), R"("-2h")");
    EXPECT_EQ(first_and_replayed(nanoseconds::max()), R"("9223372036854775807ns")");
    EXPECT_EQ(first_and_replayed(weeks(1)), R"("604800s")");
    EXPECT_EQ(first_and_replayed(duration<double, std::milli>(0.1)), R"("0.1ms")");
}

TEST_P(JsonFormsTest, time_points_keep_every_digit) {
    const TimedDelivery delivery = timed_example();
    EXPECT_EQ(first_and_replayed(delivery.at), R"("2026-02-28T23:59:59.999999999Z")");
    EXPECT_EQ(first_and_replayed(delivery.recorded), R"("2026-02-28T23:59:59.999999Z")");
    EXPECT_EQ(
        first_and_replayed(system_clock::time_point::max()), R"("2262-04-11T23:47:16.854775807Z")"
    );
    EXPECT_EQ(
        first_and_replayed(system_clock::time_point::min()), R"("1677-09-21T00:12:43.145224192Z")"
    );
    EXPECT_EQ(first_and_replayed(std::chrono::sys_days{}), R"("1970-01-01T00:00:00Z")");
}

TEST_P(JsonFormsTest, a_string_literal_and_a_view_are_strings) {
    EXPECT_EQ(first_and_replayed(std::string("paid"), [] { return "paid"; }), R"("paid")");
    EXPECT_EQ(
        first_and_replayed(std::string("paid"), [] { return std::string_view("paid"); }),
        R"("paid")"
    );
}

TEST_P(JsonFormsTest, enums_and_members_of_structs_work_too) {
    EXPECT_EQ(first_and_replayed(ParcelSize::large), R"("large")");
    const std::string text = first_and_replayed(timed_example());
    EXPECT_TRUE(contains(text, R"("note":null)")) << text;
    EXPECT_TRUE(contains(text, R"("taken":"1000000007ns")")) << text;
    EXPECT_TRUE(contains(text, R"("weight":"0.1s")")) << text;
}

TEST_P(JsonFormsTest, inputs_outputs_messages_and_answers_are_the_same_on_the_other_side) {
    const TimedDelivery delivery = timed_example();
    const Run run = pawl::workflow("job").trigger(delivery).execute(store());
    auto made = worker_for([&](Context& ctx, const TimedDelivery& input) {
        EXPECT_EQ(input, delivery);
        return ctx.pause<TimedDelivery>("answer", "which one?");
    });
    made.poll_once();
    run.resume("answer", delivery);
    made.poll_once();
    EXPECT_EQ(run.output<TimedDelivery>(), delivery);
    EXPECT_EQ(run.info().output_as<TimedDelivery>(), delivery);

    const Queue mails = store().create_queue("mail");
    mails.enqueue(delivery);
    mails.enqueue("text");
    const auto messages = mails.dequeue({.max_messages = 2});
    ASSERT_EQ(messages.size(), 2U);
    EXPECT_EQ(messages[0].as<TimedDelivery>(), delivery);
    EXPECT_EQ(messages[1].as<std::string>(), "text");
}

}  // namespace
}  // namespace pawl::test
