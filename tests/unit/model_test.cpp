#include <set>

#include "model/backoff.h"
#include "model/check.h"
#include "model/enum_names.h"
#include "model/rules.h"
#include "model/worker_state.h"
#include "support/expect.h"

namespace pawl::test {
namespace {

using namespace std::chrono_literals;
using model::backoff;

TEST(BackoffTest, doubles_from_the_base_up_to_the_cap) {
    EXPECT_EQ(backoff(0, 1s, 5min, 0), Duration(1s));
    EXPECT_EQ(backoff(1, 1s, 5min, 0), Duration(2s));
    EXPECT_EQ(backoff(8, 1s, 5min, 0), Duration(256s));
    EXPECT_EQ(backoff(9, 1s, 5min, 0), Duration(5min));
    EXPECT_EQ(backoff(100, 1s, 5min, 0), Duration(5min));
}

TEST(BackoffTest, adds_jitter_of_up_to_a_half) {
    EXPECT_EQ(backoff(0, 1s, 5min, 0.5), Duration(1250ms));
    EXPECT_LE(backoff(2, 1s, 5min, 0.999999), Duration(6s));
}

TEST(BackoffTest, never_overflows) {
    const Duration huge = std::chrono::hours(24 * 365 * 100);
    for (const int failures : {62, 63, 64, 1000, std::numeric_limits<int>::max()}) {
        EXPECT_EQ(backoff(failures, 1ms, huge, 0), huge);
        EXPECT_EQ(backoff(failures, 0ms, huge, 0), Duration(0));
    }
}

TEST(BackoffTest, the_cap_holds_for_the_base_too) {
    EXPECT_EQ(backoff(0, 10s, 1s, 0), Duration(1s));
}

TEST(CheckTest, queue_names_follow_the_rule) {
    for (const auto* good : {"a", "A-1_b.c:d", "-", "_", ":"})
        EXPECT_NO_THROW(model::check_name("queue", good));
    for (const auto* bad : {"", ".a", "a b", "a\t", "é", "a/b", "a'b"})
        EXPECT_THROW(model::check_name("queue", bad), Error) << bad;
    EXPECT_NO_THROW(model::check_name("queue", std::string(128, 'a')));
    EXPECT_THROW(model::check_name("queue", std::string(129, 'a')), Error);
}

TEST(CheckTest, a_refused_name_is_cut_in_the_error) {
    const Error error = error_of([] { model::check_name("queue", std::string(100'000, 'a')); });
    EXPECT_LT(std::string(error.what()).size(), 500U);
}

TEST(CheckTest, schema_names_are_plain_identifiers) {
    for (const auto* good : {"pawl", "tenant_1", "_x"})
        EXPECT_NO_THROW(model::check_schema_name(good));
    for (const auto* bad :
         {"",
          "Tenant",
          "1a",
          "a-b",
          "pg_catalog",
          "information_schema",
          "public",
          "a b",
          "ä",
          "a.b",
          "a/b",
          "..",
          "a\"b",
          "a'b",
          "a;b",
          "a\\b"})
        EXPECT_THROW(model::check_schema_name(bad), Error) << bad;
}

TEST(CheckTest, json_is_checked_without_building_it) {
    for (const auto* good : {"null", "[1,2]", "\"\\u0000\"", "1e300"}) {
        SCOPED_TRACE(good);
        EXPECT_NO_THROW(model::check_json(good));
    }
    for (const auto* bad : {"", "{", "[1,]", "nan", "\"\xff\""})
        EXPECT_THROW(model::check_json(bad), Error) << bad;
}

TEST(CheckTest, delays_and_pages_have_limits) {
    EXPECT_NO_THROW(model::check_delay("x", 0s));
    EXPECT_THROW(model::check_delay("x", -1ms), Error);
    EXPECT_THROW(model::check_delay("x", Duration::max()), Error);
    EXPECT_NO_THROW(model::check_page_limit(model::rules::max_page_rows));
    EXPECT_THROW(model::check_page_limit(0), Error);
}

TEST(WorkerStateTest, every_status_can_be_left_but_the_last) {
    for (const auto& [status, name] : model::worker_statuses) {
        int exits = 0;
        for (const auto& [event, event_name] : model::worker_events)
            exits += model::next_status(status, event).has_value() ? 1 : 0;
        EXPECT_EQ(exits == 0, status == WorkerStatus::stopped) << name;
    }
}

TEST(WorkerStateTest, every_status_is_reached_and_no_pair_occurs_twice) {
    std::set<WorkerStatus> reached;
    std::set<std::pair<WorkerStatus, WorkerEvent>> pairs;
    for (const auto& [from, event, to] : model::worker_transitions) {
        reached.insert(to);
        EXPECT_TRUE(pairs.emplace(from, event).second);
    }
    EXPECT_EQ(reached.size(), model::worker_statuses.size());
    EXPECT_EQ(pairs.size(), 12U);
}

TEST(NamesTest, names_go_both_ways) {
    for (const auto& [value, name] : model::message_states)
        EXPECT_EQ(model::value_of(model::message_states, name), value);
    for (const auto& [value, name] : model::worker_statuses)
        EXPECT_EQ(model::value_of(model::worker_statuses, name), value);
    for (const auto& [value, name] : model::worker_events)
        EXPECT_EQ(model::value_of(model::worker_events, name), value);
    for (const auto& [value, name] : model::run_statuses) {
        EXPECT_EQ(model::value_of(model::run_statuses, name), value);
        EXPECT_EQ(to_string(value), name);
    }
    for (const auto& [value, name] : model::step_statuses) {
        EXPECT_EQ(model::value_of(model::step_statuses, name), value);
        EXPECT_EQ(to_string(value), name);
    }
    for (const auto& [value, name] : model::audit_levels)
        EXPECT_EQ(model::value_of(model::audit_levels, name), value);
    EXPECT_FALSE(model::value_of(model::worker_statuses, "ready").has_value());
}

TEST(NamesTest, every_error_code_has_a_name_of_its_own) {
    std::set<std::string_view> names;
    const int last = static_cast<int>(ErrorCode::database_error);
    for (int code = 0; code <= last; ++code) {
        const auto name = to_string(static_cast<ErrorCode>(code));
        EXPECT_NE(name, "unknown");
        EXPECT_TRUE(names.insert(name).second) << name;
    }
}

}  // namespace
}  // namespace pawl::test
