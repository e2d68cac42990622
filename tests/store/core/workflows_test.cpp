// Definitions of workflows: created, changed, protected, deleted.
#include <atomic>
#include <thread>

#include "support/workflow_test.h"

namespace pawl::test {
namespace {

class WorkflowsTest : public WorkflowTest {};
PAWL_FOR_EACH_BACKEND(WorkflowsTest);
class WorkflowsInTransactionTest : public WorkflowsTest {};
PAWL_FOR_EACH_BACKEND_WITH(user_transactions, WorkflowsInTransactionTest);

TEST_P(WorkflowsTest, a_workflow_has_the_documented_defaults) {
    freeze();
    const WorkflowInfo made = make_workflow("zip_files");
    EXPECT_EQ(made.name, "zip_files");
    EXPECT_FALSE(made.paused);
    EXPECT_EQ(made.max_attempts, 3);
    EXPECT_EQ(made.backoff_base, Duration(1s));
    EXPECT_EQ(made.backoff_cap, Duration(5min));
    EXPECT_FALSE(made.lease);
    EXPECT_FALSE(made.run_timeout);
    EXPECT_EQ(made.max_strikes, 5);
    EXPECT_EQ(made.dead_letter_workflow, "");
    EXPECT_EQ(made.audit, AuditLevel::exceptions);
    EXPECT_EQ(made.created_at, start);
}

TEST_P(WorkflowsTest, it_has_a_queue_of_its_name_that_keeps_no_archive) {
    const WorkflowInfo made = make_workflow("job", {.lease = 7s, .max_strikes = 2});
    const QueueInfo queue = store().queue("job").info();
    EXPECT_EQ(queue.id, made.queue);
    EXPECT_FALSE(queue.keep_archive);
    EXPECT_EQ(queue.max_attempts, 0) << "attempts are the run's, not the message's";
    EXPECT_EQ(queue.lease, Duration(7s));
    EXPECT_EQ(queue.max_strikes, 2);
}

TEST_P(WorkflowsTest, making_it_again_changes_only_what_is_given) {
    make_workflow("graves");
    const WorkflowInfo first = make_workflow(
        "job",
        {.max_attempts = 7,
         .backoff_base = 2s,
         .backoff_cap = 3s,
         .lease = 4s,
         .run_timeout = 5s,
         .max_strikes = 6,
         .dead_letter_workflow = "graves",
         .audit = AuditLevel::all}
    );
    const WorkflowInfo second = make_workflow("job", {.backoff_cap = 30s});
    EXPECT_EQ(second.queue, first.queue);
    EXPECT_EQ(second.max_attempts, 7);
    EXPECT_EQ(second.backoff_base, Duration(2s));
    EXPECT_EQ(second.backoff_cap, Duration(30s));
    EXPECT_EQ(second.lease, Duration(4s));
    EXPECT_EQ(second.run_timeout, Duration(5s));
    EXPECT_EQ(second.max_strikes, 6);
    EXPECT_EQ(second.dead_letter_workflow, "graves");
    EXPECT_EQ(second.audit, AuditLevel::all);
}

TEST_P(WorkflowsTest, zero_and_the_empty_name_go_back_to_none) {
    make_workflow("graves");
    make_workflow("job", {.run_timeout = 5s, .dead_letter_workflow = "graves"});
    const WorkflowInfo changed =
        make_workflow("job", {.run_timeout = 0s, .dead_letter_workflow = ""});
    EXPECT_FALSE(changed.run_timeout);
    EXPECT_EQ(changed.dead_letter_workflow, "");
}

TEST_P(WorkflowsTest, dead_letter_workflows_that_lead_back_are_refused) {
    for (const char* name : {"c", "b", "a"}) make_workflow(name);
    make_workflow("a", {.dead_letter_workflow = "b"});
    make_workflow("b", {.dead_letter_workflow = "c"});
    for (const char* back : {"a", "b"}) {
        const Error error = error_of([&] { make_workflow("c", {.dead_letter_workflow = back}); });
        EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
        EXPECT_TRUE(contains(error.what(), "leads back to it (c -> ")) << error.what();
    }
    EXPECT_EQ(store().workflow_info("c").dead_letter_workflow, "") << "nothing is changed";
    make_workflow("b", {.dead_letter_workflow = ""});
    make_workflow("c", {.dead_letter_workflow = "a"});
    EXPECT_EQ(store().workflow_info("c").dead_letter_workflow, "a") << "the chain ends at b";
}

TEST_P(WorkflowsTest, two_that_name_each_other_at_the_same_time_do_not_both_get_through) {
    make_workflow("a");
    make_workflow("b");
    for (int round = 0; round < 20; ++round) {
        make_workflow("a", {.dead_letter_workflow = ""});
        make_workflow("b", {.dead_letter_workflow = ""});
        std::atomic<int> made = 0;
        {
            const auto name = [&](const std::string& one, const std::string& other) {
                return [&made, one, other, mine = open()] {
                    try {
                        mine.create_workflow(one, {.dead_letter_workflow = other});
                        ++made;
                    } catch (const Error&) {
                    }
                };
            };
            const std::jthread first(name("a", "b"));
            const std::jthread second(name("b", "a"));
        }
        EXPECT_EQ(made, 1);
    }
}

TEST_P(WorkflowsTest, a_failed_dead_letter_goes_to_the_next_of_the_chain_and_there_it_ends) {
    for (const char* name : {"last", "next", "job"}) make_workflow(name);
    make_workflow("next", {.dead_letter_workflow = "last"});
    make_workflow("job", {.dead_letter_workflow = "next"});
    for (const char* name : {"job", "next", "last"}) {
        const Held held = std::string(name) == "job" ? trigger_and_claim() : claim_one(name);
        EXPECT_EQ(commit(failure(held.lease())), WriteStatus::done);
    }
    for (const char* name : {"job", "next", "last"}) {
        EXPECT_EQ(store().count_runs({.workflow = name}).error, 1) << name;
        EXPECT_EQ(store().count_runs({.workflow = name}).queued, 0) << name;
    }
}

TEST_P(WorkflowsTest, the_dead_letter_workflow_must_exist_and_be_another) {
    EXPECT_EQ(
        error_of([&] { make_workflow("job", {.dead_letter_workflow = "nowhere"}); }).code(),
        ErrorCode::workflow_not_found
    );
    EXPECT_TRUE(store().workflows().empty()) << "nothing was made";
    EXPECT_TRUE(store().queues().empty());
    make_workflow("job");
    EXPECT_EQ(
        error_of([&] { make_workflow("job", {.dead_letter_workflow = "job"}); }).code(),
        ErrorCode::invalid_argument
    );
}

TEST_P(WorkflowsTest, bad_names_and_options_are_refused) {
    for (const std::string name : {"", "a b", ".a", "a#b"}) {
        EXPECT_EQ(error_of([&] { make_workflow(name); }).code(), ErrorCode::invalid_argument)
            << name;
    }
    for (const WorkflowOptions& bad : std::vector<WorkflowOptions>{
             {.max_attempts = 0},
             {.backoff_base = -1s},
             {.backoff_cap = -1s},
             {.lease = 0s},
             {.run_timeout = -1s},
             {.max_strikes = 0}}) {
        const Error error = error_of([&] { make_workflow("job", bad); });
        EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
        EXPECT_TRUE(contains(error.what(), "job"));
    }
    EXPECT_TRUE(store().workflows().empty());
}

TEST_P(WorkflowsTest, they_are_listed_and_found_by_name) {
    make_queue("plain");
    make_workflow("b");
    make_workflow("a");
    std::vector<std::string> names;
    for (const WorkflowInfo& info : store().workflows()) names.push_back(info.name);
    EXPECT_EQ(names, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(store().workflow_info("a").name, "a");
    for (const std::string name : {"plain", "nowhere"}) {
        const Error error = error_of([&] { (void)store().workflow_info(name); });
        EXPECT_EQ(error.code(), ErrorCode::workflow_not_found);
        EXPECT_TRUE(contains(error.what(), name));
    }
}

TEST_P(WorkflowsTest, the_name_of_a_plain_queue_is_refused) {
    make_queue("mail", {.max_attempts = 4});
    const Error error = error_of([&] { make_workflow("mail"); });
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_TRUE(contains(error.what(), "mail"));
    EXPECT_EQ(store().queue("mail").info().max_attempts, 4);
    EXPECT_TRUE(store().workflows().empty());
}

TEST_P(WorkflowsTest, plain_queue_operations_on_its_queue_are_refused) {
    make_workflow();
    const RunId run = trigger();
    const Queue queue = store().queue("job");
    for (const auto& call : std::vector<std::function<void()>>{
             [&] { queue.enqueue(Json{"1"}); },
             [&] { store().create_queue("job"); },
             [&] { store().delete_queue("job"); },
             [&] { store().delete_queue("job", DeleteMode::force); },
             [&] { queue.purge(); },
             [&] { queue.replay(MessageId(run.value())); },
             [&] { queue.replay_dead(); }}) {
        const Error error = error_of(call);
        EXPECT_EQ(error.code(), ErrorCode::workflow_queue);
        EXPECT_TRUE(contains(error.what(), "job"));
    }
    EXPECT_EQ(claim_one().id(), run) << "nothing was changed";
}

TEST_P(WorkflowsInTransactionTest, an_enqueue_into_its_queue_is_refused) {
    make_workflow();
    const auto mine = kit().connect_user();
    mine->begin();
    const Error error =
        error_of([&] { store().queue("job").enqueue_in(mine->transaction(), Json{"1"}); });
    EXPECT_EQ(error.code(), ErrorCode::workflow_queue);
    EXPECT_TRUE(contains(error.what(), "job"));
    mine->commit();
    EXPECT_EQ(count(Rows::messages), 0);
}

TEST_P(WorkflowsTest, a_paused_workflow_takes_triggers_and_starts_nothing) {
    make_workflow();
    store().queue("job").pause();
    EXPECT_TRUE(store().workflow_info("job").paused);
    const RunId run = trigger();
    EXPECT_TRUE(claim(10).messages.empty());
    EXPECT_EQ(status(run), RunStatus::queued);
    store().queue("job").resume();
    EXPECT_EQ(claim_one().id(), run);
}

TEST_P(WorkflowsTest, it_cannot_be_deleted_while_runs_live) {
    make_workflow();
    const auto runs = trigger_many(3);
    const Held held = claim_one();
    commit(pause_step(held.lease(), "a", 1, 1h));
    const Error error = error_of([&] { store().delete_workflow("job"); });
    EXPECT_EQ(error.code(), ErrorCode::workflow_has_runs);
    EXPECT_TRUE(contains(error.what(), "3"));
    for (const RunId run : runs) EXPECT_FALSE(is_finished(status(run)));
}

TEST_P(WorkflowsTest, deleting_it_takes_all_of_it_away) {
    make_workflow("other", {});
    make_workflow("job", {.audit = AuditLevel::all});
    make_workflow("other", {.dead_letter_workflow = "job"});
    const RunId kept = trigger("other");
    const RunId cancelled = trigger("job", {}, {.tags = {"t"}});
    store().resume(cancelled, "early", Json{"1"}, {.early = true});
    store().cancel(cancelled, "no");
    const Held done = trigger_and_claim();
    commit_all({checkpoint(done.lease(), "a", 1), success(done.lease())});
    store().delete_workflow("job");
    EXPECT_EQ(
        error_of([&] { (void)store().workflow_info("job"); }).code(), ErrorCode::workflow_not_found
    );
    EXPECT_EQ(
        error_of([&] { (void)store().queue("job").info(); }).code(), ErrorCode::queue_not_found
    );
    EXPECT_EQ(error_of([&] { (void)info(done.id()); }).code(), ErrorCode::run_not_found);
    for (const Rows rows : {Rows::steps, Rows::run_tags, Rows::signals, Rows::events})
        EXPECT_EQ(count(rows), 0) << rows;
    EXPECT_EQ(count(Rows::runs), 1);
    EXPECT_EQ(status(kept), RunStatus::queued);
    EXPECT_EQ(store().workflow_info("other").dead_letter_workflow, "");
    make_workflow("job");
    EXPECT_TRUE(store().runs({.workflow = "job"}).empty()) << "it starts anew";
}

TEST_P(WorkflowsTest, an_unknown_one_cannot_be_deleted) {
    make_queue("plain");
    for (const std::string name : {"plain", "nowhere"}) {
        EXPECT_EQ(
            error_of([&] { store().delete_workflow(name); }).code(), ErrorCode::workflow_not_found
        );
    }
    EXPECT_EQ(store().queues().size(), 1U);
}

}  // namespace
}  // namespace pawl::test
