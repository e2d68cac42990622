// The log of a watch that cannot read the file.
#include "sqlite/file_watch.h"

#include <atomic>
#include <filesystem>

#include "sqlite/database.h"
#include "support/store_test.h"

namespace pawl::test {
namespace {

TEST(FileWatchTest, a_file_that_cannot_be_read_is_two_log_lines) {
    const TempDirectory directory;
    const std::string path = directory.file("store.db");
    const std::string other = directory.file("other.db");
    const auto create = [](const std::string& file) {
        sqlite::Database(sqlite::SqliteTarget{.path = file}, file, sqlite::Database::Role::creator);
    };
    create(path);
    create(other);
    const LogLines log;
    base::Outage outage{base::Log(log.hook())};
    std::atomic<bool> away = false;
    std::atomic<int> failed = 0;
    std::atomic<int> changed = 0;
    {
        const sqlite::FileWatch watch(
            [&] {
                if (away) {
                    ++failed;
                    throw Error(ErrorCode::connection_failed, "disk error").mark_retryable();
                }
                return std::make_unique<sqlite::Database>(
                    sqlite::SqliteTarget{.path = path}, path, sqlite::Database::Role::reader
                );
            },
            [&] { ++changed; },
            [] { return false; },
            base::Log(log.hook()),
            outage
        );
        away = true;
        std::filesystem::rename(other, path);
        EXPECT_TRUE(eventually([&] { return failed >= 3; }));
        away = false;
        EXPECT_TRUE(eventually([&] { return changed > 0; }));
    }
    const std::string text = log.text();
    EXPECT_TRUE(contains(text, "database does not answer, retrying: disk error"));
    EXPECT_TRUE(contains(text, "connected again after"));
    EXPECT_EQ(std::ranges::count(text, '\n'), 2) << text;
}

}  // namespace
}  // namespace pawl::test
