// Bounds of the public API: a value at the bound is stored, one above is refused, with the same
// error on every store.
#include <fmt/format.h>
#include <functional>

#include "model/rules.h"
#include "support/workflow_test.h"

namespace pawl::test {
namespace {

namespace rules = model::rules;

class BoundsTest : public WorkflowTest {
protected:
    void SetUp() override {
        WorkflowTest::SetUp();
        make_queue("work");
        store().create_workflow("job", {});
    }

    // `call(0)` uses the bound, `call(1)` exceeds it.
    static void expect_bound(const std::string& text, const std::function<void(int)>& call) {
        SCOPED_TRACE(text);
        EXPECT_NO_THROW(call(0));
        const Error error = error_of([&] { call(1); });
        EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
        EXPECT_TRUE(contains(error.what(), text));
    }
    static std::string bytes(std::size_t bound, int more) {
        return std::string(bound + static_cast<std::size_t>(more), 'x');
    }
    void create(const TriggerOptions& options) const { (void)trigger("job", Json{"1"}, options); }
};
PAWL_FOR_EACH_BACKEND(BoundsTest);

TEST_P(BoundsTest, bounds_of_names) {
    const auto longest = rules::max_name_bytes;
    expect_bound(
        fmt::format("use 1 to {} letters, digits, '_', '-', '.', ':', not starting", longest),
        [&](int more) { store().create_queue(bytes(longest, more)); }
    );
    expect_bound(
        fmt::format("use 1 to {} letters, digits, '_', '-', '.', ':', not starting", longest),
        [&](int more) { store().create_workflow(bytes(longest - 1, more) + "w", {}); }
    );
    expect_bound(
        fmt::format("use 1 to {} letters, digits and '_', not starting with a digit", longest),
        [&](int more) { store().create_flow(bytes(longest - 1, more) + "f"); }
    );
}

TEST_P(BoundsTest, bounds_of_queues) {
    expect_bound("max_strikes must be 1 to 1000", [&](int more) {
        store().create_queue("q", {.max_strikes = rules::max_strikes + more});
    });
    expect_bound("longer than 100 years", [&](int more) {
        store().create_queue("q", {.lease = rules::longest_delay + Duration(more)});
    });
    expect_bound("max_attempts must be 0", [&](int more) {
        store().create_queue("q", {.max_attempts = rules::max_attempts + more});
    });
}

TEST_P(BoundsTest, bounds_of_messages) {
    const Queue queue = store().queue("work");
    for (const int sign : {-1, 1})
        expect_bound(
            fmt::format("priority must be {} to {}", -rules::max_priority, rules::max_priority),
            [&](int more) {
                queue.enqueue(Json{"1"}, {.priority = sign * (rules::max_priority + more)});
            }
        );
    expect_bound("longer than 100 years", [&](int more) {
        queue.enqueue(Json{"1"}, {.delay = rules::longest_delay + Duration(more)});
    });
    expect_bound("must lie between the years 1970 and 9999", [&](int more) {
        const auto last = std::chrono::sys_days(std::chrono::year(rules::latest_year) / 1 / 1);
        queue.enqueue(Json{"1"}, {.at = Timestamp(last) + std::chrono::microseconds(more)});
    });
    expect_bound("must be 1 to 10000", [&](int more) {
        (void)queue.dequeue({.max_messages = rules::max_batch + more});
    });
    expect_bound("must be 1 to 10000", [&](int more) {
        (void)queue.list(MessageState::ready, {.limit = rules::max_page_rows + more});
    });
}

TEST_P(BoundsTest, bounds_of_runs) {
    expect_bound("an idempotency key must be 1 to 512 bytes of UTF-8", [&](int more) {
        create({.idempotency_key = bytes(rules::max_key_bytes, more)});
    });
    expect_bound("a tag must be 1 to 255 bytes of UTF-8", [&](int more) {
        create({.tags = {bytes(rules::max_tag_bytes, more)}});
    });
    expect_bound("a run has at most 64 tags", [&](int more) {
        TriggerOptions options;
        for (int i = 0; i < static_cast<int>(rules::max_tags) + more; ++i)
            options.tags.push_back(std::to_string(i));
        create(options);
    });
    expect_bound("max_attempts must be 1 to 1000000", [&](int more) {
        create({.max_attempts = rules::max_attempts + more});
    });
    expect_bound("must be 1 to 10000", [&](int more) {
        (void)store().runs({}, {.limit = rules::max_page_rows + more});
    });
    expect_bound("must be 1 to 1000000", [&](int more) {
        (void)store().count_runs({}, rules::max_count_limit + more);
    });
}

TEST_P(BoundsTest, bounds_of_flows) {
    expect_bound("max_attempts must be 0 (no retry) to 1000000", [&](int more) {
        store().create_flow(
            fmt::format("attempts{}", more), {.max_attempts = rules::max_attempts + more}
        );
    });
    expect_bound("timeout is longer than 100 years", [&](int more) {
        store().create_flow(
            fmt::format("timeout{}", more), {.task_timeout = rules::longest_delay + Duration(more)}
        );
    });
    store().create_flow("flow");
    expect_bound("lease is longer than 100 years", [&](int more) {
        (void)store().poll_for_tasks("flow", 1, rules::longest_delay + Duration(more));
    });
    expect_bound("lease must be above 0", [&](int more) {
        (void)store().poll_for_tasks("flow", 1, Duration(1 - more));
    });
}

TEST_P(BoundsTest, bounds_of_retention) {
    expect_bound("retention of archive: age must be 0 to 100 years", [&](int more) {
        store().set_retention(
            RetentionKind::archive, "work", {.age = rules::longest_kept + Duration(more)}
        );
    });
    expect_bound("retention of archive: count must be 0 to 1000000", [&](int more) {
        store().set_retention(RetentionKind::archive, "work", {.count = rules::max_kept + more});
    });
}

}  // namespace
}  // namespace pawl::test
