// functions/planner_settings.txt is complete: the functions in the database have the settings that
// it lists.
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "support/store_test.h"

namespace pawl::test {
namespace {

using Settings = std::set<std::string>;
using SettingsOfFunctions = std::map<std::string, Settings>;

// "set a = b set c = d" as {"a=b", "c=d"}, the form of the catalogue.
Settings settings_in(const std::string& line) {
    Settings all;
    std::istringstream words(line);
    std::string set;
    std::string name;
    std::string is;
    std::string value;
    while (words >> set >> name >> is >> value) all.insert(name + "=" + value);
    return all;
}

SettingsOfFunctions listed_settings() {
    std::ifstream in(std::string(PAWL_SOURCE_DIR) + "/sql/postgres/functions/planner_settings.txt");
    SettingsOfFunctions all;
    Settings current;
    bool names_came = false;
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with("set ")) {
            if (names_came) current.clear();
            names_came = false;
            current.merge(settings_in(line));
        } else if (line.starts_with(" ")) {
            names_came = true;
            std::istringstream names(line);
            for (std::string name; names >> name;) all[name] = current;
        }
    }
    return all;
}

class PlannerSettingsTest : public StoreTest {
protected:
    // One entry per function, not per name: an overload that also has settings is detected.
    std::multimap<std::string, Settings> installed_settings() {
        std::multimap<std::string, Settings> all;
        for (const auto& row : database()->rows(
                 "select p.proname || ' ' || array_to_string(p.proconfig, ' ') from pg_proc p "
                 "where p.proconfig is not null and p.pronamespace = '" +
                 place().schema() + "'::regnamespace"
             )) {
            std::istringstream words(row.at(0));
            std::string name;
            words >> name;
            Settings settings;
            for (std::string word; words >> word;)
                if (word.starts_with("enable_") || word.starts_with("jit=") ||
                    word.starts_with("plan_cache_mode="))
                    settings.insert(word);
            if (!settings.empty()) all.emplace(name, settings);
        }
        return all;
    }
};
INSTANTIATE_TEST_SUITE_P(
    , PlannerSettingsTest, ::testing::Values(BackendKind::postgres), backend_name
);

TEST_P(
    PlannerSettingsTest, the_functions_of_the_list_have_exactly_its_settings_and_no_others_have
) {
    const auto listed = listed_settings();
    const auto installed = installed_settings();
    EXPECT_GE(listed.size(), 100U);
    const std::multimap<std::string, Settings> expected(listed.begin(), listed.end());
    EXPECT_EQ(installed, expected);
}

TEST_P(PlannerSettingsTest, the_settings_are_there_again_after_functions_are_installed_again) {
    const auto first = installed_settings();
    database()->run("alter function " + place().table("claim_runs") + " reset all");
    database()->run("update " + place().table("schema_version") + " set functions = ''");
    store().install();
    EXPECT_EQ(installed_settings(), first);
}

TEST_P(PlannerSettingsTest, functions_on_the_hot_path_look_up_each_item_in_an_index) {
    const auto listed = listed_settings();
    for (const auto* name :
         {"claim",
          "claim_runs",
          "claim_tasks",
          "record_step",
          "record_steps",
          "suspend_runs",
          "finish_run",
          "finish_runs",
          "complete_tasks",
          "fail_tasks",
          "archive",
          "release",
          "fail",
          "trigger_one",
          "trigger_batch"}) {
        ASSERT_TRUE(listed.contains(name)) << name;
        for (const auto* setting :
             {"enable_seqscan=off",
              "enable_hashjoin=off",
              "enable_mergejoin=off",
              "plan_cache_mode=force_generic_plan"})
            EXPECT_TRUE(listed.at(name).contains(setting)) << name << ' ' << setting;
    }
}

}  // namespace
}  // namespace pawl::test
