// Triggering: what is stored, all or nothing, idempotency keys, the user's transaction.
#include <atomic>
#include <pawl/compat.h>
#include <pawl/json.h>
#include <set>
#include <thread>

#include "support/without_polling.h"
#include "support/workflow_test.h"

namespace pawl::test {
namespace {

class TriggerTest : public WorkflowTest {};
PAWL_FOR_EACH_BACKEND(TriggerTest);
class TriggerInTransactionTest : public TriggerTest {};
PAWL_FOR_EACH_BACKEND_WITH(user_transactions, TriggerInTransactionTest);
using TriggerInTransactionWakeupTest = WithoutPolling<TriggerInTransactionTest>;
PAWL_FOR_EACH_BACKEND_WITH(user_transactions, TriggerInTransactionWakeupTest);

TEST_P(TriggerTest, a_run_and_its_message_are_created_together) {
    freeze();
    make_workflow();
    const Run run = workflow("job")
                        .trigger(Json{R"({"n":1})"})
                        .priority(5)
                        .max_attempts(9)
                        .parent(RunId(77))
                        .tags({"b", "a", "b"})
                        .idempotency_key("k")
                        .execute(store());
    EXPECT_TRUE(run.created());
    const RunInfo seen = run.info();
    EXPECT_EQ(seen.id, run.id());
    EXPECT_EQ(seen.workflow, "job");
    EXPECT_EQ(seen.status, RunStatus::queued);
    EXPECT_EQ(seen.priority, 5);
    EXPECT_EQ(seen.max_attempts, 9);
    EXPECT_EQ(seen.parent, RunId(77));
    EXPECT_EQ(
        std::multiset<std::string>(seen.tags.begin(), seen.tags.end()),
        (std::multiset<std::string>{"a", "b"})
    );
    EXPECT_EQ(seen.idempotency_key, "k");
    EXPECT_EQ(seen.input.text, R"({"n":1})");
    EXPECT_EQ(seen.created_at, start);
    EXPECT_EQ(seen.visible_at, start);
    EXPECT_FALSE(seen.started_at || seen.completed_at || seen.paused_at || seen.deleted_at);
    EXPECT_FALSE(seen.output || seen.error);
    EXPECT_EQ(seen.delivery, 0);
    const auto message = message_of(run.id());
    ASSERT_TRUE(message);
    EXPECT_EQ(message->state, MessageState::ready);
    EXPECT_EQ(message->priority, 5);
    EXPECT_EQ(message->payload.text, "null") << "the input lives once, in the run";
}

TEST_P(TriggerTest, delayed_runs_wait_for_their_time) {
    freeze();
    make_workflow();
    const RunId delayed = trigger("job", {}, {.delay = 10s});
    const RunId at = trigger("job", {}, {.at = start + 20s});
    const RunId past = trigger("job", {}, {.at = start - 20s});
    EXPECT_EQ(claim_one().id(), past);
    EXPECT_EQ(info(delayed).visible_at, start + 10s);
    EXPECT_EQ(claim(10).next_due, start + 10s);
    EXPECT_EQ(status(delayed), RunStatus::queued);
    advance(10s);
    EXPECT_EQ(claim_one().id(), delayed);
    advance(10s);
    EXPECT_EQ(claim_one().id(), at);
}

TEST_P(TriggerTest, higher_priority_is_started_first) {
    make_workflow();
    const RunId low = trigger("job", {}, {.priority = -1});
    const RunId normal = trigger();
    const RunId high = trigger("job", {}, {.priority = 7});
    std::vector<RunId> got;
    for (const Held& held : claim_many(3)) got.push_back(held.id());
    EXPECT_EQ(got, (std::vector{high, normal, low}));
}

TEST_P(TriggerTest, an_unknown_workflow_is_refused_and_nothing_of_the_batch_is_made) {
    make_workflow();
    make_queue("plain");
    for (const std::string name : {"nowhere", "plain"}) {
        const std::vector<NewRun> batch{{"job", {}, {}}, {name, {}, {}}, {"job", {}, {}}};
        const Error error = error_of([&] { store().trigger(batch); });
        EXPECT_EQ(error.code(), ErrorCode::workflow_not_found);
        EXPECT_TRUE(contains(error.what(), name));
    }
    EXPECT_EQ(store().count_runs().queued, 0);
    EXPECT_EQ(count(Rows::messages), 0);
}

TEST_P(TriggerTest, bad_input_is_refused_and_named) {
    make_workflow();
    const auto code = [&](const NewRun& run) {
        return error_of([&] { Trigger(run).execute(store()); }).code();
    };
    EXPECT_EQ(code({"job", Json{"{"}, {}}), ErrorCode::invalid_payload);
    const Json large{"\"" + std::string(1024 * 1024, 'x') + "\""};
    EXPECT_EQ(code({"job", large, {}}), ErrorCode::payload_too_large);
    EXPECT_EQ(code({"job", {}, {.delay = -1ms}}), ErrorCode::invalid_argument);
    EXPECT_EQ(code({"job", {}, {.max_attempts = 0}}), ErrorCode::invalid_argument);
    EXPECT_EQ(code({"job", {}, {.priority = 1'000'001}}), ErrorCode::invalid_argument);
    const std::vector<NewRun> batch{{"job", {}, {}}, {"job", {}, {}}, {"job", Json{"nan"}, {}}};
    const Error error = error_of([&] { store().trigger(batch); });
    EXPECT_EQ(error.code(), ErrorCode::invalid_payload);
    EXPECT_TRUE(contains(error.what(), "item 2 of the batch")) << "the index";
    EXPECT_EQ(store().count_runs().queued, 0);
}

TEST_P(TriggerTest, ten_thousand_runs_go_in_with_one_call_in_order) {
    make_workflow();
    make_workflow("other");
    std::vector<NewRun> batch;
    for (int i = 0; i < 10'000; ++i)
        batch.push_back({i % 2 == 0 ? "job" : "other", Json{std::to_string(i)}, {}});
    const auto runs = store().trigger(batch);
    ASSERT_EQ(runs.size(), 10'000U);
    for (std::size_t i = 1; i < runs.size(); ++i) ASSERT_LT(runs[i - 1].id(), runs[i].id());
    EXPECT_EQ(store().count_runs({.workflow = "job"}).queued, 5'000);
    EXPECT_EQ(store().count_runs({.workflow = "other"}).queued, 5'000);
    EXPECT_EQ(runs[9'999].info().input.text, "9999");
    EXPECT_EQ(runs[9'999].info().workflow, "other");
    EXPECT_EQ(claim_one().id(), runs[0].id());
}

TEST_P(TriggerTest, an_empty_batch_is_nothing) {
    EXPECT_TRUE(store().trigger(std::span<const NewRun>()).empty());
}

TEST_P(TriggerTest, a_key_is_used_once_per_workflow) {
    make_workflow();
    make_workflow("other");
    const auto keyed = [&](const std::string& name) {
        return workflow(name).trigger().idempotency_key("order-7").execute(store());
    };
    const Run first = keyed("job");
    const Run second = keyed("job");
    EXPECT_TRUE(first.created());
    EXPECT_FALSE(second.created());
    EXPECT_EQ(second.id(), first.id());
    EXPECT_TRUE(keyed("other").created());
    EXPECT_EQ(store().count_runs({.workflow = "job"}).queued, 1);
}

TEST_P(TriggerTest, a_finished_run_keeps_its_key_and_a_deleted_one_frees_it) {
    make_workflow();
    const RunId first = trigger("job", {}, {.idempotency_key = "k"});
    commit(success(claim_one().lease()));
    EXPECT_EQ(trigger("job", {}, {.idempotency_key = "k"}), first);
    store().delete_run(first, "again");
    const RunId second = trigger("job", {}, {.idempotency_key = "k"});
    EXPECT_NE(second, first);
    EXPECT_EQ(trigger("job", {}, {.idempotency_key = "k"}), second);
}

TEST_P(TriggerTest, a_key_used_twice_in_a_batch_makes_one_run) {
    make_workflow();
    const RunId before = trigger("job", Json{"0"}, {.idempotency_key = "a"});
    const std::vector<NewRun> batch{
        {"job", Json{"1"}, {.idempotency_key = "b"}},
        {"job", Json{"2"}, {.idempotency_key = "a"}},
        {"job", Json{"3"}, {}},
        {"job", Json{"4"}, {.idempotency_key = "b"}}};
    const auto runs = store().trigger(batch);
    ASSERT_EQ(runs.size(), 4U);
    EXPECT_TRUE(runs[0].created());
    EXPECT_FALSE(runs[1].created());
    EXPECT_EQ(runs[1].id(), before);
    EXPECT_TRUE(runs[2].created());
    EXPECT_FALSE(runs[3].created());
    EXPECT_EQ(runs[3].id(), runs[0].id());
    EXPECT_EQ(runs[0].info().input.text, "1");
    EXPECT_EQ(store().count_runs().queued, 3);
    EXPECT_EQ(count(Rows::messages), 3);
}

TEST_P(TriggerTest, threads_that_race_for_keys_get_the_same_runs) {
    make_workflow();
    constexpr int threads = 6;
    constexpr int keys = 20;
    std::vector<std::vector<Run>> got(threads);
    {
        std::vector<std::jthread> racers;
        for (int t = 0; t < threads; ++t) {
            racers.emplace_back([&, t] {
                const Store mine = open();
                std::vector<NewRun> batch;
                for (int k = 0; k < keys; ++k) {
                    // Half of them use the opposite order: locking key by key would deadlock.
                    const int key = t % 2 == 0 ? k : keys - 1 - k;
                    batch.push_back({"job", {}, {.idempotency_key = "key-" + std::to_string(key)}});
                }
                got[static_cast<std::size_t>(t)] = mine.trigger(batch);
            });
        }
    }
    int created = 0;
    for (std::size_t t = 0; t < threads; ++t) {
        ASSERT_EQ(got[t].size(), std::size_t(keys));
        for (std::size_t k = 0; k < keys; ++k) {
            created += got[t][k].created() ? 1 : 0;
            EXPECT_EQ(got[t][t % 2 == 0 ? k : keys - 1 - k].id(), got[0][k].id());
        }
    }
    EXPECT_EQ(created, keys);
    EXPECT_EQ(store().count_runs().queued, keys);
}

TEST_P(TriggerTest, typed_parameters_become_json) {
    make_workflow();
    const Run run = workflow("job").trigger(std::map<std::string, int>{{"n", 3}}).execute(store());
    EXPECT_EQ(run.info().input.text, R"({"n":3})");
    EXPECT_EQ(workflow("job").get_run(run.id(), store()).id(), run.id());
    make_workflow("other");
    for (const RunId id : {run.id(), RunId(4711)}) {
        EXPECT_EQ(
            error_of([&] { (void)workflow("other").get_run(id, store()); }).code(),
            ErrorCode::run_not_found
        );
    }
}

TEST_P(TriggerTest, without_a_live_worker_it_warns_and_waits) {
    make_workflow("lonely");
    const RunId run = trigger("lonely");
    EXPECT_EQ(status(run), RunStatus::queued);
    const std::string warning = "warning: workflow 'lonely' has no live worker: its runs wait";
    EXPECT_TRUE(eventually([&] { return contains(log_text(), warning).operator bool(); }));
}

TEST_P(TriggerInTransactionTest, the_run_exists_when_the_users_transaction_commits) {
    make_workflow();
    const auto mine = kit().connect_user();
    mine->begin();
    const Run run =
        workflow("job").trigger(Json{"5"}).tag("t").execute_in(mine->transaction(), store());
    EXPECT_TRUE(run.created());
    EXPECT_TRUE(claim(10).messages.empty());
    EXPECT_FALSE(detail::Access::backend(store())->find_run(run.id()));
    mine->commit();
    EXPECT_EQ(claim_one().id(), run.id());
    EXPECT_EQ(run.info().tags, std::vector<std::string>{"t"});
}

TEST_P(TriggerInTransactionTest, a_trigger_that_returns_an_older_run_does_not_warn) {
    make_workflow();
    make_workflow("lonely");
    const auto mine = kit().connect_user();
    mine->begin();
    // In the caller's transaction nothing is checked.
    (void)workflow("job").trigger().idempotency_key("k").execute_in(mine->transaction(), store());
    mine->commit();
    EXPECT_FALSE(workflow("job").trigger().idempotency_key("k").execute(store()).created());
    (void)trigger("lonely");  // checks are made in the order of the triggers
    EXPECT_TRUE(eventually([&] {
        return contains(log_text(), "workflow 'lonely' has no live worker").operator bool();
    }));
    EXPECT_FALSE(contains(log_text(), "workflow 'job' has no live worker"));
}

TEST_P(TriggerInTransactionTest, a_transaction_that_rolls_back_triggers_nothing) {
    make_workflow();
    const auto mine = kit().connect_user();
    mine->begin();
    const std::vector<NewRun> batch{
        {"job", {}, {.idempotency_key = "k"}}, {"job", {}, {.tags = {"t"}}}};
    EXPECT_EQ(store().trigger_in(mine->transaction(), batch).size(), 2U);
    mine->rollback();
    EXPECT_EQ(store().count_runs().queued, 0);
    for (const Rows rows : {Rows::runs, Rows::messages, Rows::run_tags})
        EXPECT_EQ(count(rows), 0) << rows;
    EXPECT_TRUE(workflow("job").trigger().idempotency_key("k").execute(store()).created());
}

TEST_P(TriggerInTransactionTest, a_key_holds_inside_a_transaction_too) {
    make_workflow();
    const RunId first = trigger("job", {}, {.idempotency_key = "k"});
    const auto mine = kit().connect_user();
    mine->begin();
    const Run second =
        workflow("job").trigger().idempotency_key("k").execute_in(mine->transaction(), store());
    mine->commit();
    EXPECT_EQ(second.id(), first);
    EXPECT_FALSE(second.created());
}

TEST_P(TriggerInTransactionTest, an_error_leaves_the_users_transaction_usable) {
    make_workflow();
    const auto mine = kit().connect_user();
    const auto in = [&](const std::string& name, const Json& input) {
        return workflow(name).trigger(input).execute_in(mine->transaction(), store());
    };
    EXPECT_EQ(error_of([&] { in("job", Json{}); }).code(), ErrorCode::wrong_transaction)
        << "no transaction is open";
    mine->begin();
    EXPECT_EQ(error_of([&] { in("nowhere", Json{}); }).code(), ErrorCode::workflow_not_found);
    EXPECT_EQ(error_of([&] { in("job", Json{"{"}); }).code(), ErrorCode::invalid_payload);
    in("job", Json{"1"});
    mine->commit();
    EXPECT_EQ(store().count_runs().queued, 1);
}

TEST_P(TriggerInTransactionWakeupTest, the_commit_of_the_users_transaction_wakes_a_worker) {
    make_workflow();
    auto made = worker_for([](Context&) { return 1; });
    made.start();
    ASSERT_TRUE(worker_is_idle(store()));
    const auto mine = kit().connect_user();
    mine->begin();
    const Run run = workflow("job").trigger().execute_in(mine->transaction(), open());
    mine->commit();
    EXPECT_EQ(run.wait<int>(30s), 1);
}

}  // namespace
}  // namespace pawl::test
