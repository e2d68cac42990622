// Callables that can be handlers, and what they are called with.
#include <functional>
#include <memory>
#include <pawl/json.h>

#include "support/workflow_test.h"

namespace pawl::test {
namespace {

struct GreetedMail {
    std::string to;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(GreetedMail, to)

constexpr Workflow<GreetedMail, std::string> mail_workflow{"job"};
constexpr Workflow<void, void> empty_workflow{"job"};

class GreetingService {
public:
    explicit GreetingService(std::string greeting) : greeting_(std::move(greeting)) {}
    std::string greet(Context& ctx, const GreetedMail& mail) const noexcept {
        return ctx.step("greet", [&] { return greeting_ + mail.to; });
    }
    void send(HandlerContext& context, GreetedMail mail) {
        sent += greeting_ + mail.to + " " + std::to_string(context.message().delivery);
    }
    std::string sent;

private:
    std::string greeting_;
};

class HandlerFormsTest : public WorkflowTest {
protected:
    void SetUp() override {
        WorkflowTest::SetUp();
        freeze();
        make_workflow();
        store().create_queue("mail");
    }

    template <class Builder>
    Json output_with(Builder builder) {
        const Run run = pawl::workflow("job").trigger(GreetedMail{"ada"}).execute(store());
        auto made = builder.share_threads(shares_threads()).create(store());
        made.poll_once();
        EXPECT_EQ(run.status(), RunStatus::success) << run.info().last_error;
        return run.info().output.value_or(Json{"none"});
    }
    template <class Builder>
    void deliver_to(Builder builder) {
        const Queue mails = store().queue("mail");
        mails.enqueue(GreetedMail{"ada"});
        auto made = builder.create(store());
        EXPECT_EQ(made.poll_once(), 1);
        EXPECT_EQ(mails.archived(ArchiveFilter::dead).size(), 0U);
        EXPECT_EQ(mails.stats().ready + mails.stats().waiting, 0);
    }
};
PAWL_FOR_EACH_BACKEND(HandlerFormsTest);

TEST_P(HandlerFormsTest, a_workflow_takes_any_callable) {
    const GreetingService service("dear ");
    const Json dear{R"("dear ada")"};
    EXPECT_EQ(
        output_with(worker("w").handle("job", std::bind_front(&GreetingService::greet, &service))),
        dear
    );
    EXPECT_EQ(
        output_with(
            worker("w").handle(mail_workflow, std::bind_front(&GreetingService::greet, &service))
        ),
        dear
    );
    EXPECT_EQ(
        output_with(worker("w").handle(
            "job",
            [own = std::make_unique<std::string>("dear ")](Context&, GreetedMail&& mail) {
                return *own + mail.to;
            }
        )),
        dear
    );
    EXPECT_EQ(
        output_with(worker("w").handle(
            "job", [](Context&, const GreetedMail& mail) noexcept { return "dear " + mail.to; }
        )),
        dear
    );
    EXPECT_EQ(
        output_with(worker("w").handle<GreetedMail>(
            "job", [](auto& ctx, auto& mail) { return ctx.step("a", [&] { return mail.to; }); }
        )),
        Json{R"("ada")"}
    );
    EXPECT_EQ(
        output_with(worker("w").handle(mail_workflow, [](auto&, auto mail) { return mail.to; })),
        Json{R"("ada")"}
    );
    EXPECT_EQ(output_with(worker("w").handle("job", [](Context&) { return "dear ada"; })), dear);
}

TEST_P(HandlerFormsTest, copies_of_a_builder_share_a_move_only_handler) {
    auto count = std::make_unique<int>(0);
    const int& seen = *count;
    const auto builder = worker("w").on_message(
        "mail", [count = std::move(count)](const GreetedMail&) mutable { ++*count; }
    );
    deliver_to(builder);
    deliver_to(WorkerBuilder(builder));
    EXPECT_EQ(seen, 2);
}

TEST_P(HandlerFormsTest, a_queue_gives_its_handler_the_value_and_the_message) {
    std::string seen;
    deliver_to(worker("w")
                   .on_message("mail", [&](HandlerContext& context, const GreetedMail& mail) {
                       const Message& message = context.message();
                       EXPECT_TRUE(message.id);
                       EXPECT_EQ(message.queue, "mail");
                       EXPECT_EQ(message.delivery, 1);
                       EXPECT_FALSE(context.stop_token().stop_requested());
                       EXPECT_FALSE(context.lease_lost(message));
                       seen += mail.to;
                   }));
    deliver_to(worker("w").on_message("mail", [&](HandlerContext&, const Message& message) {
        seen += message.as<GreetedMail>().to;
    }));
    deliver_to(worker("w").on_message<GreetedMail>("mail", [&](auto&, auto mail) {
        seen += mail.to;
    }));
    deliver_to(worker("w").on_message<GreetedMail>("mail", [&](auto mail) { seen += mail.to; }));
    EXPECT_EQ(seen, "adaadaadaada");
    GreetingService service("to ");
    deliver_to(worker("w").on_message("mail", std::bind_front(&GreetingService::send, &service)));
    EXPECT_EQ(service.sent, "to ada 1");
}

TEST_P(HandlerFormsTest, a_payload_of_another_type_is_a_dead_letter_that_names_it) {
    const Queue mails = store().queue("mail");
    const MessageId id = mails.enqueue(Json{R"({"to":7})"});
    auto made =
        worker("w").on_message("mail", [](HandlerContext&, const GreetedMail&) {}).create(store());
    made.poll_once();
    const auto dead = mails.archived(ArchiveFilter::dead);
    ASSERT_EQ(dead.size(), 1U);
    EXPECT_EQ(
        dead.front().reason,
        "permanent: message " + std::to_string(id.value()) +
            " of queue 'mail' does not decode: cannot convert JSON to pawl::test::GreetedMail: "
            "member 'to': type must be string, but is number"
    );
}

TEST_P(HandlerFormsTest, a_run_without_a_result_can_be_awaited) {
    const auto run = empty_workflow.trigger().execute(store());
    auto made =
        worker("w").handle(empty_workflow, [](Context& ctx) { ctx.pause<void>("go", "now?"); });
    auto created = made.create(store());
    created.poll_once();
    run.resume("go");
    created.poll_once();
    run.wait(1min);
    run.output();
    const Run plain = run;
    plain.wait<void>(1min);
    EXPECT_EQ(plain.output(), Json{"null"});
}

TEST_P(HandlerFormsTest, a_call_without_a_result_returns_nothing) {
    store().create_workflow("outer");
    const Run run = pawl::workflow("outer").trigger().execute(store());
    auto made = worker("w")
                    .handle(
                        "outer",
                        [](Context& ctx) {
                            ctx.call("typed", empty_workflow.trigger());
                            ctx.call<void>("named", pawl::workflow("job").trigger());
                            return "done";
                        }
                    )
                    .handle(empty_workflow, [](Context&) {})
                    .create(store());
    for (int i = 0; i < 5; ++i) made.poll_once();
    EXPECT_EQ(run.output<std::string>(), "done");
}

}  // namespace
}  // namespace pawl::test
