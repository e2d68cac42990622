// The fixture for retention: runs, messages and events that have ended, with a stopped clock. Every
// prune is preceded by a dry run, which must change nothing and predict the same counts.
#pragma once

#include <fmt/format.h>
#include <map>
#include <string>
#include <vector>

#include "support/flow_test.h"

namespace pawl::test {

using namespace std::chrono_literals;

inline constexpr Duration one_day = std::chrono::hours(24);

class RetentionTest : public FlowTest {
protected:
    void SetUp() override {
        FlowTest::SetUp();
        make_workflow("job");
    }
    [[nodiscard]] RunId succeed(const std::string& name = "job") const {
        const Held held = trigger_and_claim(name);
        EXPECT_EQ(commit(checkpoint(held.lease(), "a", 0)), WriteStatus::done);
        EXPECT_EQ(commit(success(held.lease())), WriteStatus::done);
        return held.id();
    }
    [[nodiscard]] RunId fail_run(const std::string& name = "job") const {
        const Held held = trigger_and_claim(name);
        EXPECT_EQ(commit(failure(held.lease())), WriteStatus::done);
        return held.id();
    }
    // Without a worker, so that no row of a worker exists.
    void add_events(RunId run, int events) const { kit().add_events(run, events); }
    [[nodiscard]] bool exists(RunId run) const {
        return detail::Access::backend(store())->find_run(run).has_value();
    }
    // "1 0 1": which of them exist.
    [[nodiscard]] std::string existing(const std::vector<RunId>& runs) const {
        std::string text;
        for (const RunId run : runs)
            text += std::string(text.empty() ? "" : " ") + (exists(run) ? "1" : "0");
        return text;
    }
    void keep(RetentionKind kind, const std::string& name, const Keep& keep) const {
        store().set_retention(kind, name, keep);
    }
    using Counts = std::map<std::string, std::int64_t>;
    // By kind, without zeros.
    [[nodiscard]] static Counts counts(const PruneReport& report) {
        Counts all;
        for (const auto& part : report.parts) {
            if (part.pruned > 0) all[std::string(to_string(part.kind))] += part.pruned;
        }
        return all;
    }
    [[nodiscard]] std::string rows() const {
        std::string all;
        for (const Rows rows :
             {Rows::runs,
              Rows::steps,
              Rows::tasks,
              Rows::run_tags,
              Rows::signals,
              Rows::events,
              Rows::calls,
              Rows::archive,
              Rows::messages,
              Rows::outbox,
              Rows::workers})
            all += fmt::format("{}: {}, ", static_cast<int>(rows), count(rows));
        return all;
    }
    Counts prune(int batch_rows = 500) const {
        const std::string before = rows();
        const auto foretold =
            counts(store().prune({.dry_run = true, .batch_rows = batch_rows, .share = 100}));
        EXPECT_EQ(rows(), before) << "a dry run changes nothing";
        const auto pruned = counts(store().prune({.batch_rows = batch_rows, .share = 100}));
        EXPECT_EQ(foretold, pruned) << "a dry run foretells the same";
        return pruned;
    }
};

}  // namespace pawl::test
