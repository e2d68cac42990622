#include "support/place.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <random>
#include <stdexcept>
#include <unistd.h>

namespace pawl::test {

std::ostream& operator<<(std::ostream& out, BackendKind kind) {
    switch (kind) {
        case BackendKind::sqlite:
            return out << "sqlite";
        case BackendKind::postgres:
            return out << "postgres";
    }
    return out;
}

std::vector<BackendKind> built_backends() {
    std::vector<BackendKind> kinds;
#ifdef PAWL_WITH_SQLITE
    kinds.push_back(BackendKind::sqlite);
#endif
#ifdef PAWL_WITH_POSTGRES
    kinds.push_back(BackendKind::postgres);
#endif
    return kinds;
}

TempDirectory::TempDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "pawl-test-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = pattern;
}

TempDirectory::~TempDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

std::string test_server_url() {
    const char* url = std::getenv("PAWL_TEST_POSTGRES_URL");
    if (url == nullptr || *url == '\0') {
        throw std::runtime_error(
            "PAWL_TEST_POSTGRES_URL is not set: ./dev test starts a server and sets it"
        );
    }
    return url;
}

std::string with_parameter(const std::string& url, const std::string& parameter) {
    return url + (url.find('?') == std::string::npos ? '?' : '&') + parameter;
}

std::string with_port(const std::string& url, int port) {
    const auto host = url.find("://") + 3;
    const auto slash = std::min(url.find('/', host), url.find('?', host));
    const auto at = url.substr(0, slash).rfind('@');
    const auto start = at == std::string::npos || at < host ? host : at + 1;
    return url.substr(0, start) + "127.0.0.1:" + std::to_string(port) +
           (slash == std::string::npos ? "" : url.substr(slash));
}

Place::Place(BackendKind kind, std::string server_url)
    : kind_(kind), server_url_(std::move(server_url)) {
    switch (kind) {
        case BackendKind::sqlite:
            url_ = "sqlite:" + directory_.file("store.db");
            return;
        case BackendKind::postgres:
            if (server_url_.empty()) server_url_ = test_server_url();
            std::random_device random;
            schema_ = "t" + std::to_string(getpid()) + "_" + std::to_string(random());
            url_ = with_parameter(server_url_, "schema=" + schema_);
            return;
    }
}

Place::~Place() {
#ifdef PAWL_WITH_POSTGRES
    if (kind_ != BackendKind::postgres) return;
    try {
        open_postgres_database(server_url_)->run("drop schema if exists " + schema_ + " cascade");
    } catch (const std::exception& error) {
        std::cerr << "schema " << schema_ << " stays: " << error.what() << '\n';
    }
#endif
}

std::string Place::table(const std::string& name) const {
    return kind_ == BackendKind::postgres ? schema_ + "." + name : "pawl_" + name;
}

std::unique_ptr<Database> Place::database() const {
#ifdef PAWL_WITH_POSTGRES
    if (kind_ == BackendKind::postgres) return open_postgres_database(server_url_);
#endif
#ifdef PAWL_WITH_SQLITE
    if (kind_ == BackendKind::sqlite) return open_sqlite_database(directory_.file("store.db"));
#endif
    throw std::logic_error("this backend is not built");
}

}  // namespace pawl::test
