// Installing, upgrading, and verify() and install() on a damaged schema.
#include <future>

#include "support/process.h"
#include "support/store_test.h"

namespace pawl::test {
namespace {

using Lines = std::vector<std::string>;

Lines with_end(Lines lines, const std::string& end) {
    for (std::string& line : lines) line += end;
    return lines;
}

// Each line begins as expected, in any order.
::testing::AssertionResult begin_with(Lines lines, Lines expected) {
    std::ranges::sort(lines);
    std::ranges::sort(expected);
    const bool same = std::ranges::equal(lines, expected, [](const auto& line, const auto& begin) {
        return line.starts_with(begin);
    });
    if (same) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << ::testing::PrintToString(lines) << " instead of "
                                         << ::testing::PrintToString(expected);
}

class SchemaTest : public StoreTest {
protected:
    [[nodiscard]] Lines problems() const { return store().verify().problems(); }
};
PAWL_FOR_EACH_BACKEND(SchemaTest);

TEST_P(SchemaTest, a_fresh_install_is_verified) {
    const SchemaReport report = store().verify();
    EXPECT_EQ(report.problems(), Lines{});
    EXPECT_TRUE(report.ok());
    EXPECT_EQ(report.version, store().stats().schema_version);
}

TEST_P(SchemaTest, installing_again_changes_nothing) {
    const MessageId id = make_queue().enqueue(Json{"1"});
    store().install();
    open().install();
    EXPECT_TRUE(store().verify().ok());
    EXPECT_TRUE(store().queue("work").find(id));
}

TEST_P(SchemaTest, threads_may_install_concurrently) {
    const Place fresh(GetParam());
    std::vector<std::future<void>> installs;
    for (int i = 0; i < 8; ++i) {
        installs.push_back(std::async(std::launch::async, [&] {
            connect(fresh.url(), options()).install();
        }));
    }
    for (auto& install : installs) EXPECT_NO_THROW(install.get());
    EXPECT_TRUE(connect(fresh.url(), options()).verify().ok());
}

TEST_P(SchemaTest, processes_may_install_concurrently) {
    const Place fresh(GetParam());
    std::vector<Process> installs;
    for (int i = 0; i < 4; ++i) installs.push_back(start_helper({"install", fresh.url()}));
    for (Process& install : installs) EXPECT_EQ(install.wait(), 0);
    EXPECT_TRUE(connect(fresh.url(), options()).verify().ok());
}

TEST_P(SchemaTest, a_store_that_was_not_installed_reports_it) {
    const Place fresh(GetParam());
    const Store empty = connect(fresh.url(), options());
    for (const auto& call : std::vector<std::function<void()>>{
             [&] { empty.create_queue("work"); },
             [&] { (void)empty.queues(); },
             [&] { empty.queue("work").enqueue(Json{"1"}); },
             [&] { (void)empty.queue("work").dequeue(); },
             [&] { (void)empty.stats(); },
             [&] { (void)empty.workers(); }}) {
        const Error error = error_of(call);
        EXPECT_EQ(error.code(), ErrorCode::not_installed);
        EXPECT_TRUE(contains(error.what(), "install"));
    }
    EXPECT_FALSE(empty.verify().ok());
    EXPECT_EQ(empty.verify().version, 0);
    empty.install();
    EXPECT_TRUE(empty.verify().ok());
    EXPECT_TRUE(empty.queues().empty()) << "the same store works after the install";
}

TEST_P(SchemaTest, a_newer_schema_is_refused) {
    kit().raise_version();
    const Store late = open();
    EXPECT_EQ(error_of([&] { (void)late.queues(); }).code(), ErrorCode::schema_too_new);
    EXPECT_EQ(error_of([&] { late.install(); }).code(), ErrorCode::schema_too_new);
    EXPECT_FALSE(late.verify().ok());
    EXPECT_GT(late.verify().version, 1000);
}

TEST_P(SchemaTest, verify_names_a_missing_index) {
    const Lines expected = kit().damage(Damage::missing_index);
    EXPECT_EQ(problems(), expected);
}

TEST_P(SchemaTest, verify_names_a_missing_table) {
    const Lines expected = kit().damage(Damage::missing_table);
    EXPECT_EQ(problems(), expected);
}

TEST_P(SchemaTest, verify_names_a_column_that_was_added) {
    const Lines expected = kit().damage(Damage::added_column);
    EXPECT_EQ(problems(), expected);
    EXPECT_EQ(store().install().problems, Lines{}) << "it harms nothing";
}

TEST_P(SchemaTest, verify_names_an_index_that_is_different) {
    const Lines expected = kit().damage(Damage::changed_index);
    EXPECT_TRUE(begin_with(problems(), expected));
    EXPECT_TRUE(contains(problems().at(0), ", expected "));
    EXPECT_EQ(store().install().repaired.size(), 1U);
    EXPECT_EQ(problems(), Lines{});
}

TEST_P(SchemaTest, verify_reports_how_a_column_differs) {
    const Lines expected = kit().damage(Damage::changed_column);
    EXPECT_EQ(problems(), expected);
}

TEST_P(SchemaTest, install_restores_an_index_and_reports_it) {
    const Lines restored = with_end(kit().damage(Damage::missing_index), ": restored");
    const InstallReport report = store().install();
    EXPECT_EQ(report.repaired, restored);
    EXPECT_TRUE(report.ok());
    EXPECT_EQ(problems(), Lines{});
    EXPECT_TRUE(contains(log_text(), restored.at(0)));
    EXPECT_EQ(store().install().repaired, Lines{});
}

TEST_P(SchemaTest, an_index_that_cannot_be_restored_is_a_problem) {
    store().create_workflow("order");
    for (const std::string key : {"a", "b"})
        workflow("order").trigger(Json{"1"}).idempotency_key(key).execute(store());
    const Lines missing = kit().damage(Damage::duplicate_keys);
    const InstallReport report = store().install();
    EXPECT_TRUE(begin_with(report.problems, with_end(missing, ": cannot be restored: ")));
    EXPECT_EQ(problems().size(), 1U) << "missing, or invalid after the attempt";
}

TEST_P(SchemaTest, lost_data_is_reported_and_not_restored) {
    const Lines lost = kit().damage(Damage::lost_data);
    const InstallReport report = store().install();
    EXPECT_EQ(report.repaired, Lines{});
    EXPECT_TRUE(
        begin_with(report.problems, with_end(lost, ": cannot be restored: its data are lost"))
    );
    EXPECT_EQ(problems(), lost);
}

TEST_P(SchemaTest, a_damaged_schema_is_repaired_by_an_upgrade) {
    const Place old(GetParam());
    const auto old_kit = make_kit(old);
    old_kit->install_version(4);
    const Lines restored = with_end(old_kit->damage(Damage::missing_index), ": restored");
    const Store upgraded = connect(old.url(), options());
    const InstallReport report = upgraded.install();
    EXPECT_EQ(report.from_version, 4);
    EXPECT_EQ(report.version, store().verify().version);
    EXPECT_EQ(report.problems, Lines{});
    EXPECT_EQ(report.repaired, restored);
    EXPECT_EQ(upgraded.verify().problems(), Lines{});
}

// What verify() announces is what install() does.
TEST_P(SchemaTest, findings_say_what_install_would_do) {
    const auto actions = [&] {
        std::vector<InstallAction> all;
        for (const SchemaFinding& finding : store().verify().findings)
            all.push_back(finding.action);
        return all;
    };
    using Actions = std::vector<InstallAction>;
    (void)kit().damage(Damage::missing_index);
    EXPECT_EQ(store().verify().findings.at(0).kind, "index");
    EXPECT_EQ(actions(), Actions{InstallAction::create});
    EXPECT_EQ(store().install().repaired.size(), 1U);
    (void)kit().damage(Damage::changed_index);
    EXPECT_EQ(actions(), Actions{InstallAction::replace});
    EXPECT_EQ(store().install().repaired.size(), 1U);
    (void)kit().damage(Damage::added_column);
    EXPECT_EQ(store().verify().findings.at(0).kind, "column");
    EXPECT_EQ(actions(), Actions{InstallAction::keep});
    EXPECT_EQ(store().install().problems, Lines{});
}

TEST_P(SchemaTest, findings_name_what_install_cannot_restore) {
    const auto lost = kit().damage(Damage::lost_data).size();
    const SchemaReport report = store().verify();
    EXPECT_EQ(report.findings.size(), lost);
    for (const SchemaFinding& finding : report.findings)
        EXPECT_EQ(finding.action, InstallAction::by_hand) << finding.problem;
}

TEST_P(SchemaTest, findings_tell_a_missing_schema_from_an_old_one) {
    const Place fresh(GetParam());
    const Store empty = connect(fresh.url(), options());
    ASSERT_EQ(empty.verify().findings.size(), 1U);
    EXPECT_EQ(empty.verify().findings[0].kind, "schema");
    EXPECT_EQ(empty.verify().findings[0].action, InstallAction::create);
    make_kit(fresh)->install_version(4);
    const SchemaReport old = connect(fresh.url(), options()).verify();
    ASSERT_EQ(old.findings.size(), 1U);
    EXPECT_EQ(old.findings[0].action, InstallAction::migrate);
    EXPECT_EQ(old.version, 4);
}

TEST_P(SchemaTest, verify_leaves_tables_of_the_user_alone) {
    kit().create_orders();
    EXPECT_EQ(problems(), Lines{});
}

}  // namespace
}  // namespace pawl::test
