// The fixture for the outbox: events at the seam, and dispatchers with sinks that record their
// events.
#pragma once

#include <fmt/format.h>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "seam/outbox_record.h"
#include "support/workflow_test.h"

namespace pawl {

inline void PrintTo(OutboxStatus status, std::ostream* out) {
    *out << to_string(status);
}

}  // namespace pawl

namespace pawl::test {

using seam::OutboxClaim;
using seam::OutboxDelivery;
using seam::OutboxReport;

class OutboxStoreTest : public WorkflowTest {
protected:
    void SetUp() override {
        WorkflowTest::SetUp();
        freeze();
    }
    // Types a-1, a-2, ... of aggregate a; "" has none.
    void publish(const std::string& aggregate, int count, int from = 1) const {
        for (int i = from; i < from + count; ++i)
            store().publish({fmt::format("{}-{}", aggregate, i), Json{std::to_string(i)}, aggregate}
            );
    }
    // The same in one transaction.
    void publish_together(const std::string& aggregate, int count) const {
        std::vector<seam::OutboxRecord> line;
        for (int i = 1; i <= count; ++i)
            line.push_back(seam::new_outbox_record(
                {fmt::format("{}-{}", aggregate, i), Json{"1"}, aggregate}, 100
            ));
        detail::Access::backend(store())->publish(line);
    }
    // a-1 a-2 ... a-count
    static std::string in_order(const std::string& aggregate, int count) {
        std::string all;
        for (int i = 1; i <= count; ++i)
            all += fmt::format("{}{}-{}", i == 1 ? "" : " ", aggregate, i);
        return all;
    }
    [[nodiscard]] OutboxClaim claim_events(
        int limit = 100, int per_aggregate = 100, Duration lease = 60s
    ) const {
        return detail::Access::backend(store())->claim_outbox(limit, per_aggregate, lease);
    }
    static std::string types(const std::vector<OutboxDelivery>& events) {
        std::string all;
        for (const OutboxDelivery& delivery : events)
            all += (all.empty() ? "" : " ") + delivery.event.type;
        return all;
    }
    // Claims, and returns the types.
    [[nodiscard]] std::string claimed(int limit = 100, int per_aggregate = 100) const {
        return types(claim_events(limit, per_aggregate).events);
    }
    WriteStatus report(
        const OutboxDelivery& delivery,
        OutboxReport::Kind kind,
        const std::string& error = {},
        Duration delay = {}
    ) const {
        const OutboxReport one{delivery.event.id, delivery.delivery, kind, error, delay};
        return detail::Access::backend(store())->report_outbox(std::span(&one, 1)).front();
    }
    [[nodiscard]] OutboxEvent event(const std::string& type) const {
        const auto found = store().outbox({.type = type});
        if (found.size() == 1) return found.front();
        throw std::runtime_error(fmt::format("{} events of type {}", found.size(), type));
    }
    [[nodiscard]] std::string listed(const OutboxFilter& filter = {}) const {
        std::string all;
        for (const OutboxEvent& one : store().outbox(filter))
            all += (all.empty() ? "" : " ") + one.type;
        return all;
    }
};

// A sink that records its events and answers by type as configured.
class Recorder {
public:
    [[nodiscard]] Sink sink() const {
        return [state = state_](const OutboxEvent& event) {
            const std::lock_guard lock(state->mutex);
            state->seen.push_back(event);
            const auto answer = state->answers.find(event.type);
            return answer == state->answers.end() ? SinkResult{} : answer->second;
        };
    }
    void answer(const std::string& type, SinkResult result) const {
        const std::lock_guard lock(state_->mutex);
        state_->answers.insert_or_assign(type, std::move(result));
    }
    [[nodiscard]] std::vector<OutboxEvent> seen() const {
        const std::lock_guard lock(state_->mutex);
        return state_->seen;
    }
    // The types in the order of the calls; only of one aggregate if it is given.
    [[nodiscard]] std::string types(const std::optional<std::string>& aggregate = {}) const {
        std::string all;
        for (const OutboxEvent& event : seen()) {
            if (aggregate && event.aggregate != *aggregate) continue;
            all += (all.empty() ? "" : " ") + event.type;
        }
        return all;
    }

private:
    struct State {
        std::mutex mutex;
        std::vector<OutboxEvent> seen;
        std::map<std::string, SinkResult> answers;
    };
    std::shared_ptr<State> state_ = std::make_shared<State>();
};

inline SinkResult try_again(
    const std::string& why = "not now", std::optional<Duration> after = std::nullopt
) {
    return {SinkResult::Kind::retry, why, after};
}
inline SinkResult rejected(const std::string& why = "never") {
    return {SinkResult::Kind::reject, why, {}};
}

}  // namespace pawl::test
