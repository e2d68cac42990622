// The values of the public API that need no store: builders, names, formatting.
#include <gtest/gtest.h>
#include <pawl/compat.h>
#include <pawl/format.h>
#include <pawl/json.h>

#include "base/literals.h"

namespace pawl {
namespace {

Trigger low_priority(Trigger trigger) {
    return std::move(trigger).priority(-1);
}

TEST(TriggerTest, options_move_a_temporary_and_change_a_named_one) {
    const auto& kept = workflow("job").trigger(Json{"1"}).priority(5).tag("a").tag("b");
    EXPECT_EQ(kept.run().options.priority, 5) << "a reference to the chain's end does not dangle";
    EXPECT_EQ(kept.run().options.tags, (std::vector<std::string>{"a", "b"}));
    Trigger named = workflow("job").trigger(Json{"1"});
    named.delay(10s).idempotency_key("k");
    EXPECT_EQ(named.run().options.delay, 10s);
    EXPECT_EQ(low_priority(named).run().options.priority, -1);
    EXPECT_EQ(named.run().options.priority, 0) << "a copy was changed";
    EXPECT_EQ(named.run().options.idempotency_key, "k");
}

TEST(TriggerTest, a_typed_trigger_converts_to_an_untyped_one) {
    constexpr Workflow<int, std::string> typed{"job"};
    const std::vector<Trigger> triggers{typed.trigger(1), typed.trigger(2).priority(3)};
    EXPECT_EQ(triggers.back().run().input, Json{"2"});
    EXPECT_EQ(triggers.back().run().options.priority, 3);
}

TEST(FlowBuilderTest, setters_move_a_temporary_and_change_a_named_one) {
    const auto& kept = flow("shop").max_attempts(5).step("a").map("b", "a").base_delay(1s);
    EXPECT_EQ(kept.shape().steps.size(), 2U) << "a reference to the chain's end does not dangle";
    EXPECT_EQ(kept.shape().options.backoff_base, 1s);
    Flow named = flow(std::string_view("shop"));
    named.step("a").on("a", workflow("job"));
    EXPECT_EQ(named.handlers().entries().at("a").workflow, "job");
    const auto& handlers = FlowHandlers().on("a", workflow("x")).on("b", [](TaskContext&) {});
    EXPECT_EQ(handlers.entries().size(), 2U);
}

static_assert(std::is_same_v<decltype(worker("w").concurrency(1).lease(1s)), WorkerBuilder>);
static_assert(std::is_same_v<decltype(std::declval<WorkerBuilder&>().port(1)), WorkerBuilder&>);

TEST(WorkflowTest, a_typed_workflow_owns_its_name) {
    const auto made = [] {
        const std::string name = "a name that is too long for a short string";
        return Workflow<int, int>(name);
    }();
    EXPECT_EQ(made.name(), "a name that is too long for a short string");
    EXPECT_THROW((Workflow<int, int>(std::string(129, 'x'))), Error);
}

TEST(FormatTest, ids_enums_and_counts_format_as_they_are_stored) {
    EXPECT_EQ(fmt::format("{}", RunId(42)), "42");
    EXPECT_EQ(fmt::format("{:>4}", RunId(42)), "  42");
    EXPECT_EQ(fmt::format("{}", RunStatus::success), "SUCCESS");
    EXPECT_EQ(fmt::format("{}", WhenUnmet::skip_cascade), "skip-cascade");
    EXPECT_EQ(fmt::format("{}", ErrorCode::wait_stopped), "wait_stopped");
    EXPECT_EQ(fmt::format("{}", ArchiveFilter::dead), "dead");
    EXPECT_EQ(fmt::format("{}", DeleteMode::if_empty), "if-empty");
    EXPECT_EQ(fmt::format("{}", Compat::pgflow), "pgflow");
    EXPECT_EQ(fmt::format("{}", EnsuredFlow::recreated), "recreated");
    EXPECT_EQ(fmt::format("{}", EnsureMode::refuse_different), "refuse-different");
    EXPECT_EQ(fmt::format("{}", SinkResult::Kind::reject), "reject");
    EXPECT_EQ(fmt::format("{}", HttpSinkOptions::Mode::binary), "binary");
    EXPECT_EQ(fmt::format("{}", LogLevel::debug), "debug");
    EXPECT_EQ(fmt::format("{}", Count{10'000, false}), "10000+");
}

TEST(VersionTest, the_numbers_are_those_of_the_text) {
    EXPECT_EQ(
        fmt::format("{}.{}.{}", PAWL_VERSION_MAJOR, PAWL_VERSION_MINOR, PAWL_VERSION_PATCH),
        PAWL_VERSION
    );
}

}  // namespace
}  // namespace pawl
