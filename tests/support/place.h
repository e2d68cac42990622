// The place of a test's store: a file in a separate directory, or a separate schema in the database
// of the test server. Removed at the end of the test.
#pragma once

#include <algorithm>
#include <filesystem>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "support/database.h"

namespace pawl::test {

// `deferring` is an SQLite file over sessions that defer writes.
enum class BackendKind { sqlite, postgres, deferring };
std::ostream& operator<<(std::ostream& out, BackendKind kind);
// `deferring` only if PAWL_TEST_DEFERRING is set: see deferring_store.h.
std::vector<BackendKind> built_backends();

class TempDirectory {
public:
    TempDirectory();
    ~TempDirectory();
    TempDirectory(const TempDirectory&) = delete;
    TempDirectory& operator=(const TempDirectory&) = delete;
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    [[nodiscard]] std::string file(const std::string& name) const {
        return (path_ / name).string();
    }

private:
    std::filesystem::path path_;
};

// PAWL_TEST_POSTGRES_URL. Throws if it is not set: a missing server is a failure.
std::string test_server_url();
std::string with_parameter(const std::string& url, const std::string& parameter);
// `url` with another database.
std::string with_database(const std::string& url, const std::string& name);
// `url` with another host and port.
std::string with_port(const std::string& url, int port);

class Place {
public:
    explicit Place(BackendKind kind) : Place(kind, std::string()) {}
    // With the schema installed, if that is cheaper than install(): on PostgreSQL a separate
    // database, copied from a template that the first test creates.
    static std::unique_ptr<Place> prepared(BackendKind kind);
    // A schema in another server.
    Place(BackendKind kind, std::string server_url);
    ~Place();
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    [[nodiscard]] BackendKind kind() const { return kind_; }
    [[nodiscard]] const std::string& url() const { return url_; }
    // PostgreSQL: the database of the place, without a schema.
    [[nodiscard]] const std::string& server_url() const { return server_url_; }
    [[nodiscard]] bool is_installed() const { return !database_.empty(); }
    // A unique name for objects that all databases of a server share: roles.
    [[nodiscard]] const std::string& unique_name() const { return unique_name_; }
    [[nodiscard]] const std::string& schema() const { return schema_; }
    [[nodiscard]] const TempDirectory& directory() const { return directory_; }
    // The name of one of pawl's tables in SQL: x.messages or pawl_messages.
    [[nodiscard]] std::string table(const std::string& name) const;
    [[nodiscard]] std::unique_ptr<Database> database() const;

private:
    BackendKind kind_;
    TempDirectory directory_;
    std::string unique_name_;
    std::string server_url_;
    std::string schema_;
    std::string database_;  // only of this place; "": a schema in the server's usual database
    std::string url_;
};

}  // namespace pawl::test
