// The words are the same in C++ and in SQL.
#include <regex>
#include <set>

#include "model/enum_names.h"
#include "support/store_test.h"

namespace pawl::test {
namespace {

class EnumsTest : public StoreTest {
protected:
    // What the check of a column allows: the quoted words in it.
    std::set<std::string> allowed(const std::string& table, const std::string& column) const {
        std::string definition;
        if (on_postgres()) {
            definition = database()->value(
                "select pg_get_constraintdef(oid) from pg_constraint where conrelid = '" +
                place().table(table) + "'::regclass and conname = '" + table + "_" + column +
                "_check'"
            );
        } else {
            const std::string sql = database()->value(
                "select sql from sqlite_schema where name = '" + place().table(table) + "'"
            );
            std::smatch match;
            const std::regex check(R"(check\s*\(\s*)" + column + R"(\b)");
            if (std::regex_search(sql, match, check))
                definition = up_to_closing_parenthesis(match.suffix());
        }
        std::set<std::string> words;
        const std::regex quoted("'([A-Za-z_-]+)'");
        for (std::sregex_iterator at(definition.begin(), definition.end(), quoted), end; at != end;
             ++at)
            words.insert((*at)[1]);
        return words;
    }
    static std::string up_to_closing_parenthesis(const std::string& text) {
        int open = 1;
        std::size_t at = 0;
        for (; at < text.size() && open > 0; ++at) {
            if (text[at] == '(') ++open;
            if (text[at] == ')') --open;
        }
        return text.substr(0, at);
    }
    template <class Table>
    static std::set<std::string> names(const Table& table) {
        std::set<std::string> result;
        for (const auto& [value, name] : table) result.insert(std::string(name));
        return result;
    }
};
PAWL_FOR_EACH_BACKEND(EnumsTest);

TEST_P(EnumsTest, message_states_are_the_same_in_sql) {
    EXPECT_EQ(allowed("messages", "state"), names(model::message_states));
}

TEST_P(EnumsTest, worker_statuses_are_the_same_in_sql) {
    EXPECT_EQ(allowed("workers", "status"), names(model::worker_statuses));
}

TEST_P(EnumsTest, run_statuses_are_the_same_in_sql) {
    EXPECT_EQ(allowed("runs", "status"), names(model::run_statuses));
}

TEST_P(EnumsTest, step_statuses_are_the_same_in_sql) {
    EXPECT_EQ(allowed("steps", "status"), names(model::step_statuses));
}

TEST_P(EnumsTest, audit_levels_are_the_same_in_sql) {
    EXPECT_EQ(allowed("workflows", "audit"), names(model::audit_levels));
}

TEST_P(EnumsTest, kinds_of_retention_are_the_same_in_sql) {
    EXPECT_EQ(allowed("retention", "kind"), names(model::retention_kinds));
}

TEST_P(EnumsTest, levels_of_publishing_and_statuses_of_events_are_the_same_in_sql) {
    EXPECT_EQ(allowed("workflows", "publish"), names(model::publish_levels));
    EXPECT_EQ(allowed("outbox", "status"), names(model::outbox_statuses));
}

TEST_P(EnumsTest, policies_of_schedules_are_the_same_in_sql) {
    EXPECT_EQ(allowed("schedules", "overlap"), names(model::overlaps));
    EXPECT_EQ(allowed("schedules", "catch_up"), names(model::catch_ups));
}

TEST_P(EnumsTest, worker_events_are_the_same_in_sql) {
    std::set<std::string> stored;
    for (const Row& row :
         database()->rows("select event from " + place().table("worker_transitions")))
        stored.insert(row.front());
    EXPECT_EQ(stored, names(model::worker_events));
}

}  // namespace
}  // namespace pawl::test
