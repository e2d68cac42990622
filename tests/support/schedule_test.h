// The fixture for schedules: the clock is stopped, and a scheduler checks when the test calls it.
#pragma once

#include <set>
#include <string>

#include "runtime/services/scheduler.h"
#include "support/times.h"
#include "support/workflow_test.h"

namespace pawl::test {

class ScheduleStoreTest : public WorkflowTest {
protected:
    void SetUp() override {
        WorkflowTest::SetUp();
        set("2026-01-01 00:00");
        make_workflow();
    }
    void set(const std::string& time) const { testing::set_clock(store(), time_of(time)); }
    ScheduleInfo make(const std::string& cron, const ScheduleOptions& options = {}) const {
        return store().create_schedule("s", "job", cron, Json{"7"}, options);
    }
    [[nodiscard]] ScheduleInfo get() const { return store().schedule_info("s"); }
    [[nodiscard]] std::string next() const {
        const auto at = get().next_fire_at;
        return at ? text_of(*at) : "never";
    }
    // One check by a separate scheduler.
    void look() const { runtime::Scheduler(*detail::Access::backend(store())).fire_due(); }
    void look_at(const std::string& time) const {
        set(time);
        look();
    }
    [[nodiscard]] std::vector<RunInfo> runs() const {
        auto found = store().runs({.workflow = "job"}, {.limit = 10'000});
        std::ranges::reverse(found);
        return found;
    }
    // The fire times of the runs, in the order of their creation: "00:00, 01:00".
    [[nodiscard]] std::string fired() const {
        std::string text;
        for (const RunInfo& run : runs()) {
            const std::string& key = run.idempotency_key.value_or("T(none)     ");
            text += (text.empty() ? "" : ", ") + key.substr(key.find('T') + 1, 5);
        }
        return text;
    }
    // Ends the oldest waiting run.
    void finish_one() const { ASSERT_EQ(commit(success(claim_one().lease())), WriteStatus::done); }
};

}  // namespace pawl::test
