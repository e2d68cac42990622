// The search for lost work reads live runs, never the history.
#include <nlohmann/json.hpp>

#include "support/workflow_test.h"

namespace pawl::test {
namespace {

class RepairPlanTest : public WorkflowTest {
protected:
    [[nodiscard]] long blocks_read(const std::string& page = "") const {
        const auto plan = nlohmann::json::parse(database()->value(
            "explain (analyze, buffers, format json) select * from " + place().schema() +
            ".find_lost_runs(" + page + "max_rows => 100)"
        ));
        const auto& read = plan[0]["Plan"];
        return read["Shared Hit Blocks"].get<long>() + read["Shared Read Blocks"].get<long>();
    }
    void end_all() const {
        database()->run(
            "update " + place().table("runs") + " set status = 'SUCCESS', completed_at = now(); " +
            "delete from " + place().table("messages")
        );
        database()->run("vacuum " + place().table("runs"));
    }
};
INSTANTIATE_TEST_SUITE_P(, RepairPlanTest, ::testing::Values(BackendKind::postgres), backend_name);

TEST_P(RepairPlanTest, a_page_costs_the_same_for_any_history) {
    make_workflow();
    make_workflow("other");
    (void)trigger_many(150);
    (void)trigger_many(150, "other");
    const long before = blocks_read();
    end_all();
    for (int i = 0; i < 5; ++i) {
        (void)trigger_many(2'000, i % 2 == 0 ? "job" : "other");
        end_all();
    }
    (void)trigger_many(150);
    (void)trigger_many(150, "other");
    EXPECT_LT(blocks_read(), before * 2) << before;
}

TEST_P(RepairPlanTest, a_page_costs_the_same_however_many_runs_are_live) {
    make_workflow();
    make_workflow("other");
    (void)trigger_many(150);
    (void)trigger_many(150, "other");
    (void)blocks_read();
    const long before = blocks_read();
    for (int i = 0; i < 4; ++i) (void)trigger_many(2'000, i % 2 == 0 ? "job" : "other");
    EXPECT_LT(blocks_read(), before * 2) << before;
    const std::string run = database()->value(
        "select max(run_id) from " + place().table("runs") +
        " where workflow_id = (select min(workflow_id) from " + place().table("workflows") + ")"
    );
    const std::string workflow =
        database()->value("select min(workflow_id) from " + place().table("workflows"));
    EXPECT_LT(
        blocks_read("after_workflow => " + workflow + ", after_run => " + run + ", "), before * 2
    ) << before;
}

}  // namespace
}  // namespace pawl::test
