// The part of a kit that stores with pawl's tables in a SQL database share.
#pragma once

#include <span>
#include <string>

#include "store/statement.h"
#include "support/store_kit.h"

namespace pawl::test {

class SqlKit : public StoreKit {
public:
    explicit SqlKit(const Place& place) : place_(place) {}

    [[nodiscard]] std::unique_ptr<UserConnection> connect_user() const override;
    void create_orders() const override;
    [[nodiscard]] long count_orders() const override;
    [[nodiscard]] long count(Rows rows) const override;
    [[nodiscard]] long count(Rows rows, RunId run) const override;
    [[nodiscard]] long count(Word word, const std::string& value) const override;
    [[nodiscard]] std::set<std::string> allowed(Word word) const override;
    void lose_message(MessageId id) const override;
    void lose_run(RunId run) const override;
    void write(Word word, const std::string& value, RunId run) const override;
    void write_key(RunId run, const std::string& key) const override;
    void write_time_zone(const std::string& schedule, const std::string& zone) const override;
    void add_ended_runs(const EndedRuns& runs) const override;
    void add_events(RunId run, int count) const override;
    void refuse_writes_of(MessageId id) const override;
    void refuse_steps_of(RunId run) const override;
    [[nodiscard]] std::vector<std::string> damage(Damage damage) const override;
    void raise_version() const override;

protected:
    [[nodiscard]] const Place& place() const { return place_; }
    [[nodiscard]] std::unique_ptr<Database> database() const { return place_.database(); }
    [[nodiscard]] std::string table(const std::string& name) const { return place_.table(name); }

    // --- the dialect ---
    // The name of an index or of a user's table in a statement.
    [[nodiscard]] virtual std::string qualified(const std::string& name) const = 0;
    // The name of a table or index of pawl in a message of verify().
    [[nodiscard]] virtual std::string shown(const std::string& name) const = 0;
    // A time from an expression of microseconds since 1970.
    [[nodiscard]] virtual std::string time(const std::string& microseconds) const = 0;
    // The text of the check of a column.
    [[nodiscard]] virtual std::string check_of(const std::string& table, const std::string& column)
        const = 0;
    // For the session of `database`, or permanently.
    virtual void lift_check(Database& database, const std::string& table, const std::string& column)
        const = 0;
    // A trigger that raises 'not this one'.
    virtual void refuse(
        const std::string& table, const std::vector<std::string>& events, const std::string& when
    ) const = 0;
    [[nodiscard]] virtual std::vector<std::string> change_column() const = 0;

    // Runs the migrations up to `version`. `stamp`: the columns of the version's row after the
    // first one.
    void run_migrations(
        std::span<const store::Migration> migrations, int version, const std::string& stamp
    ) const;

private:
    const Place& place_;
};

[[nodiscard]] const StoreTraits& postgres_traits();
[[nodiscard]] const StoreTraits& sqlite_traits();
[[nodiscard]] std::unique_ptr<StoreKit> make_postgres_kit(const Place& place);
[[nodiscard]] std::unique_ptr<StoreKit> make_sqlite_kit(const Place& place);

}  // namespace pawl::test
