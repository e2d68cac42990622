// What the contract suite (tests/store) needs of a store beyond the public API: reading rows that
// no call returns, writing rows as an earlier version or a user would, and damaging the schema.
// Each store has a kit. Only the kits contain table names and SQL.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <pawl/pawl.h>
#include <set>
#include <string>
#include <vector>

#include "support/place.h"

namespace pawl::test {

// Differences between stores by design. Tests check a trait, never the name of a store.
struct StoreTraits {
    std::string name;                // StoreInfo::backend
    Transaction null_transaction;    // of the type of its transactions
    bool user_transactions = false;  // enqueue_in, execute_in and publish_in work
    bool wakeups_name_runs = false;  // those from other processes name the cancelled run
};

enum class Rows {
    runs,
    steps,
    tasks,
    run_tags,
    signals,
    events,
    calls,
    messages,
    archive,
    outbox,
    schedules,
    workers,
    flow_steps,
    flow_deps
};
std::ostream& operator<<(std::ostream& out, Rows rows);

// A stored word that the store checks against a list.
enum class Word {
    message_state,
    worker_status,
    worker_event,
    run_status,
    step_status,
    audit_level,
    publish_level,
    retention_kind,
    outbox_status,
    overlap,
    catch_up
};

enum class Damage {
    missing_index,
    missing_table,  // with rows that install() can write again
    lost_data,      // a column and a table whose rows cannot be restored
    added_column,
    changed_column,
    changed_index,
    duplicate_keys,  // a unique index is missing, and all runs have the same idempotency key
};

// Runs that have ended, with the ids `first_id` and following. The nth of them took n * `apart`.
struct EndedRuns {
    enum class Ends { success, error_and_success };  // the second: alternating, an error first

    std::string workflow = "job";
    int count = 1;
    RunId first_id = RunId(1'000'001);
    Timestamp created_at{};
    std::chrono::microseconds apart{};
    Ends ends = Ends::success;
    RunId parent{};
    int steps = 0;  // of each run
};

// A connection of the user; calls of pawl may join its transactions.
class UserConnection {
public:
    virtual ~UserConnection() = default;
    [[nodiscard]] virtual Transaction transaction() = 0;
    virtual void begin() = 0;
    virtual void commit() = 0;
    virtual void rollback() = 0;
    // Rows that this connection sees, including those of its open transaction.
    [[nodiscard]] virtual long count(Rows rows, RunId run) = 0;
    virtual void insert_order() = 0;
};

// Ends with its lifetime.
class Obstacle {
public:
    virtual ~Obstacle() = default;
};

class StoreKit {
public:
    virtual ~StoreKit() = default;

    // --- the user's connection and table ---
    [[nodiscard]] virtual std::unique_ptr<UserConnection> connect_user() const = 0;
    virtual void create_orders() const = 0;
    [[nodiscard]] virtual long count_orders() const = 0;

    // --- reading rows that no call returns ---
    [[nodiscard]] virtual long count(Rows rows) const = 0;
    [[nodiscard]] virtual long count(Rows rows, RunId run) const = 0;
    [[nodiscard]] virtual long count(Word word, const std::string& value) const = 0;
    [[nodiscard]] virtual std::set<std::string> allowed(Word word) const = 0;
    // Whether a notification from another process would arrive now.
    [[nodiscard]] virtual bool hears_notifications() const = 0;

    // --- writing without the store ---
    virtual void lose_message(MessageId id) const = 0;
    virtual void lose_run(RunId run) const = 0;
    // In all rows, or in those of one run, bypassing the store's check.
    virtual void write(Word word, const std::string& value, RunId run = {}) const = 0;
    virtual void write_key(RunId run, const std::string& key) const = 0;
    virtual void write_time_zone(const std::string& schedule, const std::string& zone) const = 0;
    virtual void add_ended_runs(const EndedRuns& runs) const = 0;
    virtual void add_events(RunId run, int count) const = 0;

    // --- refusing writes; the error contains "not this one" ---
    virtual void refuse_writes_of(MessageId id) const = 0;
    virtual void refuse_steps_of(RunId run) const = 0;
    // Later steps of the run fail for now, at least for a store opened with `impatient_url`. May
    // begin only when the first step of any run is stored.
    [[nodiscard]] virtual std::unique_ptr<Obstacle> obstruct_steps_of(RunId run) const = 0;
    // A URL of the store whose calls do not wait for locks.
    [[nodiscard]] virtual std::string impatient_url() const = 0;

    // --- the schema ---
    // Returns how each problem that verify() reports begins.
    [[nodiscard]] virtual std::vector<std::string> damage(Damage damage) const = 0;
    virtual void install_version(int version) const = 0;
    virtual void raise_version() const = 0;

    // --- tenants ---
    [[nodiscard]] virtual std::string own_tenant() const = 0;
    [[nodiscard]] virtual std::string tenant_url(const std::string& tenant) const = 0;
    // Every row of every table of a tenant.
    using Contents = std::map<std::string, std::vector<Row>>;
    [[nodiscard]] virtual Contents contents(const std::string& tenant) const = 0;
};

[[nodiscard]] const StoreTraits& traits_of(BackendKind kind);
[[nodiscard]] std::vector<BackendKind> backends_with(bool StoreTraits::*trait);
// The place must outlive the kit.
[[nodiscard]] std::unique_ptr<StoreKit> make_kit(const Place& place);

}  // namespace pawl::test
