// Values that do not decode: the error names the run, the step, the type and the member.
#include <pawl/json.h>

#include "support/workflow_test.h"

namespace pawl::test {

struct CheckedParcel {
    std::string item;
    int count = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CheckedParcel, item, count)

namespace {

constexpr const char* wrong_count =
    "cannot convert JSON to pawl::test::CheckedParcel: member 'count': type must be number, but is "
    "string";

class DecodeErrorsTest : public WorkflowTest {
protected:
    void SetUp() override {
        WorkflowTest::SetUp();
        freeze();
        make_workflow();
    }
    static std::string of_run(RunId run) {
        return "run " + std::to_string(run.value()) + " of workflow 'job'";
    }
    template <class Call>
    static std::string message_of(Call call) {
        try {
            call();
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::serialization_error);
            return error.what();
        }
        return "no error";
    }
    const Json bad_{R"({"item":"nut","count":"three"})"};
};
PAWL_FOR_EACH_BACKEND(DecodeErrorsTest);

TEST_P(DecodeErrorsTest, an_input_names_its_run_and_the_type) {
    const RunId run = trigger("job", bad_);
    auto made = worker_for([](Context&, const CheckedParcel&) {});
    made.poll_once();
    EXPECT_EQ(error_in(info(run).error).type, "serialization_error");
    EXPECT_EQ(
        error_in(info(run).error).message,
        "the input of " + of_run(run) + " does not decode: " + wrong_count
    );
}

TEST_P(DecodeErrorsTest, an_input_names_a_missing_member) {
    const RunId run = trigger("job", Json{R"({"item":"nut"})"});
    auto made = worker_for([](Context&, const CheckedParcel&) {});
    made.poll_once();
    EXPECT_EQ(
        error_in(info(run).error).message,
        "the input of " + of_run(run) +
            " does not decode: cannot convert JSON to pawl::test::CheckedParcel: member 'count' is "
            "missing"
    );
}

TEST_P(DecodeErrorsTest, an_output_names_its_run_and_the_type) {
    const RunId run = trigger();
    auto made = worker_for([&](Context&) { return bad_; });
    made.poll_once();
    const std::string number = std::to_string(run.value());
    EXPECT_EQ(
        message_of([&] { (void)store().run(run).output<CheckedParcel>(); }),
        "the output of run " + number + " does not decode: " + wrong_count
    );
    EXPECT_EQ(
        message_of([&] { (void)info(run).output_as<CheckedParcel>(); }),
        "the output of " + of_run(run) + " does not decode: " + wrong_count
    );
}

TEST_P(DecodeErrorsTest, a_recorded_step_names_its_run_and_its_id) {
    const RunId run = trigger();
    const auto first = [&](Context& ctx) {
        ctx.step("pack", [] { return 1; });
        ctx.step("pack", [&] { return bad_; });
        ctx.step("record", [] {});
        throw TransientError("again");
    };
    const auto changed = [](Context& ctx) {
        ctx.step("pack", [] { return 1; });
        ctx.step("pack", [] { return CheckedParcel{}; });
    };
    worker_for(first).poll_once();
    advance(1h);
    worker_for(changed).poll_once();
    EXPECT_EQ(status(run), RunStatus::error);
    EXPECT_EQ(
        error_in(info(run).error).message,
        of_run(run) + ": the recorded result of step 'pack#2' does not decode: " + wrong_count +
            "; use the type that was recorded, or fork the run from this step"
    );
}

TEST_P(DecodeErrorsTest, the_output_of_a_called_run_names_the_caller_and_the_step) {
    store().create_workflow("inner");
    const RunId run = trigger();
    auto made =
        worker("w")
            .handle(
                "job",
                [](Context& ctx) {
                    (void)ctx.call<CheckedParcel>("call", pawl::workflow("inner").trigger());
                }
            )
            .handle("inner", [&](Context&) { return bad_; })
            .create(store());
    for (int i = 0; i < 3; ++i) made.poll_once();
    EXPECT_TRUE(
        error_in(info(run).error)
            .message.starts_with(
                of_run(run) + ": the recorded result of step 'call' does not decode: " + wrong_count
            )
    ) << info(run).last_error;
}

TEST_P(DecodeErrorsTest, a_guard_names_its_run_and_its_step) {
    const RunId run = trigger();
    auto made = worker_for([&](Context& ctx) {
        auto guard = ctx.acquire("pack");
        guard.success(bad_);
        (void)guard.output<CheckedParcel>();
    });
    made.poll_once();
    EXPECT_TRUE(error_in(info(run).error)
                    .message.starts_with(of_run(run) + ": the recorded result of step 'pack'")
    ) << info(run).last_error;
}

TEST_P(DecodeErrorsTest, an_answer_that_is_rejected_says_why) {
    const RunId run = trigger();
    auto made = worker_for([](Context& ctx) { (void)ctx.pause<CheckedParcel>("ask", "which?"); });
    made.poll_once();
    store().resume(run, "ask", bad_);
    made.poll_once();
    EXPECT_EQ(step(run, "ask").status, StepStatus::paused);
    EXPECT_EQ(
        step(run, "ask").pause_message, std::string("which? (answer rejected: ") + wrong_count + ")"
    );
}

TEST_P(DecodeErrorsTest, a_message_names_its_queue) {
    const Queue mails = store().create_queue("mail");
    const MessageId id = mails.enqueue(bad_);
    const auto messages = mails.dequeue();
    ASSERT_EQ(messages.size(), 1U);
    EXPECT_EQ(
        message_of([&] { (void)messages.front().as<CheckedParcel>(); }),
        "message " + std::to_string(id.value()) + " of queue 'mail' does not decode: " + wrong_count
    );
}

}  // namespace
}  // namespace pawl::test
