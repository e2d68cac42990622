// connect() and reads on a file that does not exist or cannot be written.
#include <filesystem>
#include <fstream>
#include <unistd.h>

#include "support/store_test.h"

namespace pawl::test {
namespace {

// The permissions of files do not apply to root.
class AsNobody {
public:
    AsNobody() : was_(geteuid()) {
        if (was_ == 0 && seteuid(65534) != 0) throw std::runtime_error("seteuid failed");
    }
    ~AsNobody() {
        if (was_ == 0 && seteuid(0) != 0) std::abort();
    }
    AsNobody(const AsNobody&) = delete;
    AsNobody& operator=(const AsNobody&) = delete;

private:
    uid_t was_;
};

class FileTest : public ::testing::Test {
protected:
    [[nodiscard]] std::string file() const { return directory_.file("store.db"); }
    [[nodiscard]] Store open() const { return connect("sqlite:" + file(), options_); }
    void make_read_only() const {
        using std::filesystem::perms;
        std::filesystem::permissions(
            file(), perms::owner_read | perms::group_read | perms::others_read
        );
        std::filesystem::permissions(directory_.path(), perms(0555));
    }
    void TearDown() override {
        std::filesystem::permissions(directory_.path(), std::filesystem::perms::owner_all);
    }
    TempDirectory directory_;
    ConnectOptions options_{.retry_timeout = 0ms, .log = nullptr};
};

TEST_F(FileTest, reading_creates_no_file) {
    const Store store = open();
    EXPECT_EQ(error_of([&] { (void)store.queues(); }).code(), ErrorCode::not_installed);
    EXPECT_EQ(error_of([&] { store.create_queue("work"); }).code(), ErrorCode::not_installed);
    const SchemaReport report = store.verify();
    EXPECT_EQ(report.version, 0);
    ASSERT_EQ(report.problems().size(), 1U);
    EXPECT_TRUE(
        contains(report.problems().front(), "does not exist; create it with store.install()")
    );
    EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
    store.install();
    EXPECT_TRUE(store.queues().empty()) << "the same store works after the install";
}

TEST_F(FileTest, a_file_that_another_process_creates_later_is_found) {
    const Store early = open();
    open().install();
    early.create_queue("work");
    EXPECT_EQ(early.queues().size(), 1U);
}

TEST_F(FileTest, a_read_only_file_can_be_inspected) {
    {
        const Store store = open();
        store.install();
        store.create_queue("work");
    }
    make_read_only();
    const AsNobody rights;
    const Store store = open();
    EXPECT_EQ(store.verify().problems(), std::vector<std::string>{});
    EXPECT_EQ(store.queues().size(), 1U);
    const Error error = error_of([&] { store.create_queue("other"); });
    EXPECT_EQ(error.code(), ErrorCode::connection_failed);
    EXPECT_TRUE(contains(error.what(), "writable")) << error.what();
    EXPECT_TRUE(std::filesystem::exists(file()));
}

TEST_F(FileTest, a_read_only_file_in_use_can_be_inspected) {
    const Store writer = open();
    writer.install();
    writer.create_queue("work");
    make_read_only();
    for (const std::string end : {"-wal", "-shm"})
        std::filesystem::permissions(file() + end, std::filesystem::perms(0644));
    const AsNobody rights;
    EXPECT_EQ(open().queues().size(), 1U);
}

// As by `rm store.db-wal store.db-shm; mv backup.db store.db`. Nothing is written in between: the
// -wal and -shm files next to the new file must be its own.
void replace(const std::string& file, const std::string& backup) {
    const auto writer = open_sqlite_database(file);
    writer->run("begin immediate");
    for (const std::string end : {"-wal", "-shm"}) std::filesystem::remove(file + end);
    std::filesystem::rename(backup, file);
    writer->run("rollback");
}

TEST_F(FileTest, a_file_that_is_replaced_is_opened_again) {
    const Store store = open();
    store.install();
    store.create_queue("old");
    const std::string backup = directory_.file("backup.db");
    open_sqlite_database(file())->run("vacuum into '" + backup + "'");
    store.create_queue("later");
    EXPECT_EQ(store.queues().size(), 2U);
    replace(file(), backup);
    EXPECT_EQ(store.queues().size(), 1U);
    store.create_queue("new");
    EXPECT_EQ(open().queues().size(), 2U) << "it was written to the new file";
}

TEST_F(FileTest, a_worker_notices_that_its_file_was_replaced) {
    const LogLines log;
    options_.log = log.hook();
    const Store store = open();
    store.install();
    store.create_workflow("job");
    auto made = pawl::worker("w").heartbeat(20ms).handle("job", [](Context&) {}).create(store);
    made.start();
    const std::string backup = directory_.file("backup.db");
    open_sqlite_database(file())->run("vacuum into '" + backup + "'");
    const WorkerId before = made.id();
    const auto beats = [&] {
        return open_sqlite_database(file())->number("select max(beats) from pawl_workers");
    };
    const auto saved = open_sqlite_database(backup)->number("select max(beats) from pawl_workers");
    EXPECT_TRUE(eventually([&] { return beats() > saved + 2; }));
    replace(file(), backup);
    EXPECT_TRUE(eventually([&] { return made.id() != before; }));
    EXPECT_TRUE(contains(log.text(), "store restored"));
    const pawl::Run run = pawl::workflow("job").trigger(Json{"1"}).execute(open());
    EXPECT_NO_THROW((void)run.wait_json(30s)) << "and works on";
}

}  // namespace
}  // namespace pawl::test
