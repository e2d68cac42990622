// A run that exists exactly when your own transaction commits: no order without its workflow, no
// workflow for an order that was rolled back.
#include <cstdio>
#include <filesystem>
#include <pawl/json.h>
#include <pawl/pawl.h>

#include <sqlite3.h>

void fulfil(pawl::Context& ctx, const std::string& item) {
    ctx.step("ship", [&] { std::printf("shipped: %s\n", item.c_str()); });
}

int main() {
    const auto file = std::filesystem::temp_directory_path() / "pawl_example_09.db";
    for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(file.string() + suffix);

    pawl::Store store = pawl::connect("sqlite:" + file.string());
    store.install();
    store.create_workflow("fulfil");
    pawl::Worker worker = pawl::worker("worker-1").handle("fulfil", fulfil).create(store);

    sqlite3* db = nullptr;  // your own connection, to the same file
    sqlite3_open(file.c_str(), &db);
    sqlite3_exec(db, "create table orders (item text)", nullptr, nullptr, nullptr);

    for (const char* ending : {"rollback", "commit"}) {
        sqlite3_exec(db, "begin; insert into orders values ('book')", nullptr, nullptr, nullptr);
        (void)pawl::workflow("fulfil").trigger(std::string("book")).execute_in(db, store);
        sqlite3_exec(db, ending, nullptr, nullptr, nullptr);
        std::printf("%s: %lld run(s)\n", ending, static_cast<long long>(store.count_runs().queued));
        worker.poll_once();
    }
    sqlite3_close(db);
    std::printf("finished: %lld run(s)\n", static_cast<long long>(store.count_runs().success));
    for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(file.string() + suffix);
}
