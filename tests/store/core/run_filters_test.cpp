// Every combination of filters returns the matching runs, page by page, and their counts: compared
// with a list of all runs that the test filters itself.
#include <map>
#include <random>

#include "support/workflow_test.h"

namespace pawl::test {
namespace {

class RunFiltersTest : public WorkflowTest {
protected:
    // Runs of two workflows and a flow, in every status, some soft-deleted, some with keys and
    // tags.
    void make_runs() {
        freeze();
        make_workflow("job");
        make_workflow("other");
        store().create_flow("graph");
        store().add_step("graph", {.slug = "a"});
        std::mt19937 random(7);
        for (int i = 0; i < 90; ++i) {
            TriggerOptions options;
            if (i % 4 == 0) options.idempotency_key = "k" + std::to_string(i % 12);
            if (i % 2 == 0) options.tags.push_back("even");
            if (i % 15 == 0) options.tags.push_back("rare");
            if (i % 10 == 9) options.delay = 1h;
            const std::string name = i % 9 == 8 ? "graph" : i % 3 == 0 ? "other" : "job";
            const RunId run = trigger(name, {}, options);
            tags_.try_emplace(run, options.tags);  // else the key was used: an earlier run
            if (i % 13 == 0) advance(Duration(1 + random() % 1000));
            settle_some(name, static_cast<unsigned>(random()));
            if (i % 11 == 10 && !is_finished(status(run))) store().cancel(run, "no");
            if (i % 8 == 0) store().delete_run(run, "gone");
        }
    }
    void settle_some(const std::string& name, unsigned choice) const {
        if (choice % 3 == 0) return;
        if (name == "graph") {
            if (choice % 3 == 1) (void)store().poll_for_tasks("graph");
            return;
        }
        const auto claimed = claim_many_or_none(name);
        for (const Held& held : claimed) {
            switch (choice / 3 % 5) {
                case 0:
                    commit(success(held.lease()));
                    break;
                case 1:
                    commit(failure(held.lease()));
                    break;
                case 2:
                    commit(pause_step(held.lease(), "ask", 1, 1h));
                    break;
                case 3:
                    hand_back(held.lease());
                    break;
                default:
                    break;
            }
        }
    }
    void hand_back(const Lease& lease) const { commit({lease, seam::HandBack{}}); }
    [[nodiscard]] std::vector<Held> claim_many_or_none(const std::string& name) const {
        std::vector<Held> held;
        const seam::Claim found = claim(1, name);
        for (std::size_t i = 0; i < found.messages.size(); ++i)
            held.push_back({found.messages[i], *found.runs[i]});
        return held;
    }
    [[nodiscard]] bool matches(const RunInfo& run, const RunFilter& filter) const {
        const auto& tags = tags_.at(run.id);
        return filter.workflow.value_or(run.workflow) == run.workflow &&
               filter.status.value_or(run.status) == run.status &&
               (!filter.tag || std::ranges::count(tags, *filter.tag) > 0) &&
               (!filter.idempotency_key || run.idempotency_key == *filter.idempotency_key) &&
               filter.created_from.value_or(run.created_at) <= run.created_at &&
               filter.created_before.value_or(Timestamp::max()) > run.created_at &&
               (filter.include_deleted || !run.deleted_at);
    }
    void check(const RunFilter& filter, const std::vector<RunInfo>& all) const {
        std::vector<RunId> expected;
        std::map<RunStatus, long> counts;
        for (const RunInfo& run : all) {
            if (!matches(run, filter)) continue;
            expected.push_back(run.id);
            ++counts[run.status];
        }
        std::vector<RunId> seen;
        RunPage page{.before = {}, .limit = 7};
        while (true) {
            const auto part = store().runs(filter, page);
            for (const RunInfo& run : part) seen.push_back(run.id);
            if (part.size() < 7) break;
            page.before = part.back().id;
        }
        EXPECT_EQ(seen, expected);
        const RunCounts counted = store().count_runs(filter);
        EXPECT_EQ(counted.queued, counts[RunStatus::queued]);
        EXPECT_EQ(counted.running, counts[RunStatus::running]);
        EXPECT_EQ(counted.paused, counts[RunStatus::paused]);
        EXPECT_EQ(counted.success, counts[RunStatus::success]);
        EXPECT_EQ(counted.error, counts[RunStatus::error]);
        EXPECT_EQ(counted.cancelled, counts[RunStatus::cancelled]);
        EXPECT_TRUE(counted.queued.exact && counted.running.exact && counted.success.exact);
    }

    std::map<RunId, std::vector<std::string>> tags_;
};
PAWL_FOR_EACH_BACKEND(RunFiltersTest);

TEST_P(RunFiltersTest, lists_and_counts_are_those_of_the_filter) {
    make_runs();
    const auto all = store().runs({.include_deleted = true}, {.before = {}, .limit = 1000});
    ASSERT_GT(all.size(), 60U);
    std::map<RunStatus, int> seen;
    for (const RunInfo& run : all) ++seen[run.status];
    ASSERT_EQ(seen.size(), 6U) << "every status occurs";
    const Timestamp middle = all[all.size() / 2].created_at;
    const std::optional<std::string> any;
    for (const auto& workflow : {any, std::optional<std::string>("job"), {"graph"}, {"nope"}}) {
        for (int status = -1; status < 6; ++status) {
            RunFilter filter{.workflow = workflow};
            if (status >= 0) filter.status = static_cast<RunStatus>(status);
            for (int i = 0; i < 2 * 2 * 2 * 3 * 2; ++i) {
                filter.created_from = i % 2 ? std::optional(middle) : std::nullopt;
                filter.created_before = i / 2 % 2 ? std::optional(middle + 500ms) : std::nullopt;
                filter.include_deleted = i / 4 % 2 != 0;
                const int tag = i / 8 % 3;
                filter.tag =
                    tag == 0 ? any : std::optional<std::string>(tag == 1 ? "even" : "rare");
                filter.idempotency_key = i / 24 % 2 ? std::optional<std::string>("k4") : any;
                SCOPED_TRACE(
                    workflow.value_or("any") + " status " + std::to_string(status) + " case " +
                    std::to_string(i)
                );
                check(filter, all);
            }
        }
    }
}

TEST_P(RunFiltersTest, a_page_continues_behind_a_run_that_was_pruned) {
    freeze();
    make_workflow();
    for (int i = 0; i < 6; ++i) {
        commit(success(trigger_and_claim().lease()));
        advance(1s);
    }
    const auto first = store().runs({.workflow = "job"}, {.before = {}, .limit = 3});
    kit().lose_run(first.back().id);
    const auto second = store().runs({.workflow = "job"}, {.before = first.back().id, .limit = 10});
    ASSERT_EQ(second.size(), 3U);
    EXPECT_LT(second.front().id, first.back().id);
}

}  // namespace
}  // namespace pawl::test
