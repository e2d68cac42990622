#include "support/place.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <random>
#include <stdexcept>
#include <unistd.h>

#include "support/template_database.h"

namespace pawl::test {

std::ostream& operator<<(std::ostream& out, BackendKind kind) {
    switch (kind) {
        case BackendKind::sqlite:
            return out << "sqlite";
        case BackendKind::postgres:
            return out << "postgres";
        case BackendKind::deferring:
            return out << "deferring";
    }
    return out;
}

std::vector<BackendKind> built_backends() {
    std::vector<BackendKind> kinds;
#ifdef PAWL_WITH_SQLITE
    kinds.push_back(BackendKind::sqlite);
    if (std::getenv("PAWL_TEST_DEFERRING") != nullptr) kinds.push_back(BackendKind::deferring);
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

std::string with_database(const std::string& url, const std::string& name) {
    const auto host = url.find("://") + 3;
    const auto parameters = url.find('?', host);
    const auto slash = std::min(url.find('/', host), parameters);
    return url.substr(0, slash) + "/" + name +
           (parameters == std::string::npos ? "" : url.substr(parameters));
}

namespace {

std::string random_name() {
    std::random_device random;
    return "t" + std::to_string(getpid()) + "_" + std::to_string(random());
}

}  // namespace

Place::Place(BackendKind kind, std::string server_url)
    : kind_(kind), unique_name_(random_name()), server_url_(std::move(server_url)) {
    switch (kind) {
        case BackendKind::sqlite:
        case BackendKind::deferring:
            url_ = "sqlite:" + directory_.file("store.db");
            return;
        case BackendKind::postgres:
            if (server_url_.empty()) server_url_ = test_server_url();
            schema_ = unique_name_;
            url_ = with_parameter(server_url_, "schema=" + schema_);
            return;
    }
}

std::unique_ptr<Place> Place::prepared(BackendKind kind) {
    auto place = std::make_unique<Place>(kind);
#ifdef PAWL_WITH_POSTGRES
    if (kind == BackendKind::postgres) {
        place->database_ = copy_template_database(place->unique_name_);
        place->server_url_ = with_database(test_server_url(), place->database_);
        place->schema_ = template_schema;
        place->url_ = with_parameter(place->server_url_, "schema=" + place->schema_);
    }
#endif
    return place;
}

Place::~Place() {
#ifdef PAWL_WITH_POSTGRES
    if (kind_ != BackendKind::postgres) return;
    try {
        if (is_installed()) {
            open_postgres_database(test_server_url())
                ->run("drop database " + database_ + " with (force)");
        } else {
            open_postgres_database(server_url_)
                ->run("drop schema if exists " + schema_ + " cascade");
        }
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
    if (kind_ != BackendKind::postgres) return open_sqlite_database(directory_.file("store.db"));
#endif
    throw std::logic_error("this backend is not built");
}

}  // namespace pawl::test
