#include <algorithm>
#include <regex>

#include "base/crash_point.h"
#include "generated/sqlite_migrations.h"
#include "support/sql_kit.h"

namespace pawl::test {
namespace {

std::string up_to_closing_parenthesis(const std::string& text) {
    int open = 1;
    std::size_t at = 0;
    for (; at < text.size() && open > 0; ++at) {
        if (text[at] == '(') ++open;
        if (text[at] == ')') --open;
    }
    return text.substr(0, at);
}

// A file has one lock for all rows: taken between two calls of the store, after it has stored a
// step.
class FileLock : public Obstacle {
public:
    FileLock(std::unique_ptr<Database> database, std::string steps)
        : database_(std::move(database)), steps_(std::move(steps)) {
        installed_ = this;
        base::crash_hook = [] { installed_->take_after_first_step(); };
    }
    ~FileLock() override {
        base::crash_hook = nullptr;
        installed_ = nullptr;
        if (taken_) database_->run("rollback");
    }
    FileLock(const FileLock&) = delete;
    FileLock& operator=(const FileLock&) = delete;

private:
    void take_after_first_step() {
        if (taken_ || database_->number("select count(*) from " + steps_) == 0) return;
        taken_ = true;
        database_->begin();
    }

    inline static FileLock* installed_ = nullptr;
    std::unique_ptr<Database> database_;
    std::string steps_;
    bool taken_ = false;
};

class SqliteKit : public SqlKit {
public:
    using SqlKit::SqlKit;

    [[nodiscard]] bool hears_notifications() const override { return true; }
    [[nodiscard]] std::unique_ptr<Obstacle> obstruct_steps_of(RunId) const override {
        return std::make_unique<FileLock>(database(), table("steps"));
    }
    [[nodiscard]] std::string impatient_url() const override {
        return with_parameter(place().url(), "busy_timeout=1");
    }
    void install_version(int version) const override {
        run_migrations(sqlite::sql::migrations, version, "'old', 0");
    }

    [[nodiscard]] std::string own_tenant() const override { return "pawl"; }
    [[nodiscard]] std::string tenant_url(const std::string& tenant) const override {
        return with_parameter(place().url(), "schema=" + tenant);
    }
    [[nodiscard]] Contents contents(const std::string& tenant) const override {
        const auto file = open_sqlite_database(place().directory().file("store." + tenant + ".db"));
        Contents all;
        for (const Row& name : file->rows("select name from sqlite_master where type = 'table'")) {
            auto rows = file->rows("select * from " + name.at(0));
            std::ranges::sort(rows);
            all.emplace(name.at(0), std::move(rows));
        }
        return all;
    }

protected:
    [[nodiscard]] std::string qualified(const std::string& name) const override { return name; }
    [[nodiscard]] std::string shown(const std::string& name) const override {
        return "pawl_" + name;
    }
    [[nodiscard]] std::string time(const std::string& microseconds) const override {
        return microseconds;
    }
    [[nodiscard]] std::string check_of(const std::string& name, const std::string& column)
        const override {
        const std::string sql =
            database()->value("select sql from sqlite_schema where name = '" + table(name) + "'");
        std::smatch match;
        const std::regex check(R"(check\s*\(\s*)" + column + R"(\b)");
        if (!std::regex_search(sql, match, check)) return "";
        return up_to_closing_parenthesis(match.suffix());
    }
    void lift_check(Database& database, const std::string&, const std::string&) const override {
        database.run("pragma ignore_check_constraints = on");
    }
    void refuse(
        const std::string& name, const std::vector<std::string>& events, const std::string& when
    ) const override {
        for (const std::string& event : events)
            database()->run(
                "create trigger refuse_" + event + " before " + event + " on " + table(name) +
                " when " + when + " begin select raise(abort, 'not this one'); end"
            );
    }
    [[nodiscard]] std::vector<std::string> change_column() const override {
        database()->run("alter table pawl_events rename column kind to sort");
        return {
            "column pawl_events.kind is missing",
            "column pawl_events.sort is not part of pawl's schema"};
    }
};

}  // namespace

const StoreTraits& sqlite_traits() {
    static const StoreTraits traits{
        .name = "sqlite",
        .null_transaction = static_cast<sqlite3*>(nullptr),
        .user_transactions = true};
    return traits;
}

std::unique_ptr<StoreKit> make_sqlite_kit(const Place& place) {
    return std::make_unique<SqliteKit>(place);
}

}  // namespace pawl::test
