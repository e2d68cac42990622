// A connection of the test to the database under a store: for reading, for direct changes, and for
// the user's transactions.
#pragma once

#include <algorithm>
#include <memory>
#include <pawl/transaction.h>
#include <string>
#include <vector>

namespace pawl::test {

using Row = std::vector<std::string>;  // nulls are empty

class Database {
public:
    virtual ~Database() = default;
    // Throws std::runtime_error with the database's message.
    virtual std::vector<Row> rows(const std::string& sql) = 0;
    virtual Transaction transaction() = 0;
    // Like a user who writes: on SQLite it takes the write lock and waits for it, which a
    // transaction that began as a reader cannot.
    virtual void begin() = 0;

    void run(const std::string& sql) { rows(sql); }
    std::string value(const std::string& sql);  // first column of the only row
    long number(const std::string& sql) { return std::stol(value(sql)); }
};

std::unique_ptr<Database> open_postgres_database(const std::string& url);
std::unique_ptr<Database> open_sqlite_database(const std::string& path);

}  // namespace pawl::test
