// One store of a twin test, and what the test has claimed there. Operations name an entry by its
// index in these lists, which is the same on every store.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/flow_test.h"
#include "twin/show.h"

namespace pawl::test::twin {

struct HeldMessage {
    Message message;
    std::string queue;
};

// Claimed entries stay here after they were settled: old leases must be refused.
struct Hands {
    std::vector<HeldMessage> messages;
    std::vector<Held> runs;
    std::vector<HeldTask> tasks;
    std::vector<seam::OutboxDelivery> deliveries;
    std::vector<seam::StoredSchedule> due;  // of the last check
    // Everything ever seen.
    std::vector<RunId> known_runs;
    std::vector<MessageId> known_messages;
    std::vector<WorkerId> workers;
    std::vector<std::int64_t> outbox;

    void know(RunId run);
    void know(MessageId message);
};

class World : public Hands {
public:
    explicit World(BackendKind kind);
    // An empty store at the start of its time.
    void reset();

    [[nodiscard]] BackendKind kind() const { return place_.kind(); }
    [[nodiscard]] const Store& store() const { return *store_; }
    [[nodiscard]] seam::Backend& backend() const { return *detail::Access::backend(*store_); }
    [[nodiscard]] Show show() { return Show(ids_); }
    // A connection of the user, for the user's transactions.
    [[nodiscard]] Database& database() { return *database_; }
    [[nodiscard]] QueueId queue_id(const std::string& name) const;
    // The number to claim: `count`, or all if rows of a queue have become due at the same time,
    // because which of those a smaller claim takes is not promised.
    [[nodiscard]] int claimable(const std::vector<std::string>& queues, int count) const;
    void advance(Duration by);
    [[nodiscard]] Timestamp now() const { return now_; }

private:
    [[nodiscard]] std::vector<std::string> tables() const;

    Place place_;
    std::unique_ptr<Database> database_;
    std::vector<std::string> empty_at_first_;
    std::vector<std::string> filled_at_first_;
    std::optional<Store> store_;
    Ids ids_;
    Timestamp now_;
};

// The entry at that index; none if the list is empty.
template <class T>
const T* at(const std::vector<T>& all, int index) {
    return all.empty() ? nullptr : &all[static_cast<std::size_t>(index) % all.size()];
}

}  // namespace pawl::test::twin
