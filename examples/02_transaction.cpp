// A message that exists exactly when your own transaction commits: no order without its mail, no
// mail without its order.
#include <cstdio>
#include <filesystem>
#include <pawl/pawl.h>

#include <sqlite3.h>

int main() {
    const auto file = std::filesystem::temp_directory_path() / "pawl_example_02.db";
    for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(file.string() + suffix);

    pawl::Store store = pawl::connect("sqlite:" + file.string());
    store.install();
    pawl::Queue mails = store.create_queue("mail");

    sqlite3* db = nullptr;  // your own connection, to the same file
    sqlite3_open(file.c_str(), &db);
    sqlite3_exec(db, "create table orders (item text)", nullptr, nullptr, nullptr);

    for (const char* ending : {"rollback", "commit"}) {
        sqlite3_exec(db, "begin; insert into orders values ('book')", nullptr, nullptr, nullptr);
        mails.enqueue_in(db, pawl::Json{R"({"subject":"Your book"})"});
        sqlite3_exec(db, ending, nullptr, nullptr, nullptr);
        std::printf("%s: %lld message(s)\n", ending, static_cast<long long>(mails.stats().ready));
    }
    sqlite3_close(db);
    for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(file.string() + suffix);
}
