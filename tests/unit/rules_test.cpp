// Numbers of model/rules.h that public headers repeat as defaults of their structs.
#include "model/rules.h"

#include <pawl/pawl.h>

#include "support/expect.h"

namespace pawl::test {
namespace {

namespace rules = model::rules;

TEST(RulesTest, the_defaults_of_option_structs_are_the_rules) {
    EXPECT_EQ(ConnectOptions{}.lease, rules::default_lease);
    EXPECT_EQ(ConnectOptions{}.pause_check_interval, rules::default_pause_check);
    EXPECT_EQ(QueueInfo{}.max_strikes, rules::default_queue_strikes);
    EXPECT_EQ(QueueInfo{}.max_attempts, rules::default_queue_attempts);
    EXPECT_EQ(WorkflowInfo{}.max_attempts, rules::default_run_attempts);
    EXPECT_EQ(WorkflowInfo{}.max_strikes, rules::default_queue_strikes);
    EXPECT_EQ(DispatcherOptions{}.lease, rules::default_outbox_lease);
    EXPECT_EQ(PageRequest{}.limit, rules::default_page_rows);
    EXPECT_EQ(RunPage{}.limit, rules::default_page_rows);
    EXPECT_EQ(OutboxFilter{}.limit, rules::default_page_rows);
    EXPECT_EQ(PruneOptions{}.batch_rows, rules::default_prune_rows);
}

TEST(RulesTest, the_doublings_reach_the_longest_delay_of_a_flow) {
    EXPECT_GE(Duration(1) * (1LL << rules::most_flow_doublings), rules::longest_flow_delay);
}

}  // namespace
}  // namespace pawl::test
