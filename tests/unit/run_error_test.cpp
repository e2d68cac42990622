#include "model/run_error.h"

#include <pawl/error.h>

#include "support/expect.h"

namespace pawl::test {
namespace {

using model::RunError;
using model::Thrown;
using namespace std::chrono_literals;

Thrown described(const std::function<void()>& call) {
    try {
        call();
    } catch (...) {
        return model::describe(std::current_exception());
    }
    throw std::logic_error("nothing was thrown");
}

TEST(RunErrorTest, goes_through_json_and_back) {
    const RunError error{"permanent", "card \"declined\"\n", "charge", 3};
    const Json json = model::to_json(error);
    EXPECT_EQ(
        json.text,
        R"({"type":"permanent","message":"card \"declined\"\n","step":"charge","attempt":3})"
    );
    const RunError back = model::to_run_error(json);
    EXPECT_EQ(back.type, error.type);
    EXPECT_EQ(back.message, error.message);
    EXPECT_EQ(back.step, error.step);
    EXPECT_EQ(back.attempt, error.attempt);
}

TEST(RunErrorTest, outside_of_steps_no_step_is_named) {
    EXPECT_EQ(
        model::to_json({"poison", "delivered", {}, 0}).text,
        R"({"type":"poison","message":"delivered"})"
    );
}

TEST(RunErrorTest, any_text_becomes_json) {
    EXPECT_NO_THROW((void)model::to_json({"t", "caf\xe9", "s\xff", 1}));
    EXPECT_LT(model::to_json({"t", std::string(1'000'000, 'x'), {}, 0}).text.size(), 20'000U);
}

TEST(RunErrorTest, text_that_is_not_an_error_object_becomes_the_message) {
    for (const std::string text : {"{", "", "5", "\"x\""})
        EXPECT_EQ(model::to_run_error(Json{text}).message, text);
    const RunError partial = model::to_run_error(Json{R"({"type":5,"attempt":"x"})"});
    EXPECT_EQ(partial.type, "");
    EXPECT_EQ(partial.attempt, 0);
}

TEST(RunErrorTest, is_one_readable_line) {
    EXPECT_EQ(
        model::readable({"permanent", "card declined", "charge", 3}),
        "step 'charge' failed in attempt 3: card declined (permanent)"
    );
    EXPECT_EQ(model::readable({"timeout", "took too long", {}, 0}), "timeout: took too long");
}

TEST(ThrownTest, each_kind_is_recognised) {
    const Thrown pause = described([] { throw PauseError("no file", 5s, "exists"); });
    EXPECT_EQ(pause.kind, Thrown::Kind::pause);
    EXPECT_EQ(pause.message, "no file");
    EXPECT_EQ(pause.delay, Duration(5s));
    EXPECT_EQ(pause.condition, "exists");
    const Thrown transient = described([] { throw TransientError("later", 7s); });
    EXPECT_EQ(transient.kind, Thrown::Kind::transient);
    EXPECT_EQ(transient.delay, Duration(7s));
    EXPECT_EQ(described([] { throw PermanentError("no"); }).kind, Thrown::Kind::permanent);
    const Thrown unknown = described([] { throw std::out_of_range("at 5"); });
    EXPECT_EQ(unknown.kind, Thrown::Kind::transient);
    EXPECT_EQ(unknown.type, "std::out_of_range");
    EXPECT_FALSE(unknown.delay);
    EXPECT_EQ(described([] { throw 42; }).kind, Thrown::Kind::transient);
}

TEST(ThrownTest, errors_of_pawl_are_permanent_if_the_same_call_can_never_succeed) {
    const auto kind = [](ErrorCode code) {
        return described([&] { throw Error(code, "x"); }).kind;
    };
    EXPECT_EQ(kind(ErrorCode::serialization_error), Thrown::Kind::permanent);
    EXPECT_EQ(kind(ErrorCode::payload_too_large), Thrown::Kind::permanent);
    EXPECT_EQ(kind(ErrorCode::context_misuse), Thrown::Kind::permanent);
    EXPECT_EQ(kind(ErrorCode::connection_failed), Thrown::Kind::transient);
    EXPECT_EQ(kind(ErrorCode::busy), Thrown::Kind::transient);
    EXPECT_EQ(described([] { throw Error(ErrorCode::busy, "x"); }).type, "busy");
}

}  // namespace
}  // namespace pawl::test
