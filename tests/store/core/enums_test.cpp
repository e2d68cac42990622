// The names of enumerators are the same in C++ and in the database.
#include <set>

#include "model/enum_names.h"
#include "support/store_test.h"

namespace pawl::test {
namespace {

class EnumsTest : public StoreTest {
protected:
    template <class Table>
    static std::set<std::string> names(const Table& table) {
        std::set<std::string> result;
        for (const auto& [value, name] : table) result.insert(std::string(name));
        return result;
    }
};
PAWL_FOR_EACH_BACKEND(EnumsTest);

TEST_P(EnumsTest, message_states_are_the_same_in_the_database) {
    EXPECT_EQ(kit().allowed(Word::message_state), names(model::message_states));
}

TEST_P(EnumsTest, worker_statuses_are_the_same_in_the_database) {
    EXPECT_EQ(kit().allowed(Word::worker_status), names(model::worker_statuses));
}

TEST_P(EnumsTest, run_statuses_are_the_same_in_the_database) {
    EXPECT_EQ(kit().allowed(Word::run_status), names(model::run_statuses));
}

TEST_P(EnumsTest, step_statuses_are_the_same_in_the_database) {
    EXPECT_EQ(kit().allowed(Word::step_status), names(model::step_statuses));
}

TEST_P(EnumsTest, audit_levels_are_the_same_in_the_database) {
    EXPECT_EQ(kit().allowed(Word::audit_level), names(model::audit_levels));
}

TEST_P(EnumsTest, kinds_of_retention_are_the_same_in_the_database) {
    EXPECT_EQ(kit().allowed(Word::retention_kind), names(model::retention_kinds));
}

TEST_P(EnumsTest, levels_of_publishing_and_statuses_of_events_are_the_same_in_the_database) {
    EXPECT_EQ(kit().allowed(Word::publish_level), names(model::publish_levels));
    EXPECT_EQ(kit().allowed(Word::outbox_status), names(model::outbox_statuses));
}

TEST_P(EnumsTest, policies_of_schedules_are_the_same_in_the_database) {
    EXPECT_EQ(kit().allowed(Word::overlap), names(model::overlaps));
    EXPECT_EQ(kit().allowed(Word::catch_up), names(model::catch_ups));
}

TEST_P(EnumsTest, worker_events_are_the_same_in_the_database) {
    EXPECT_EQ(kit().allowed(Word::worker_event), names(model::worker_events));
}

}  // namespace
}  // namespace pawl::test
