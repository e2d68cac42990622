#include "support/template_database.h"

#include <pawl/pawl.h>
#include <vector>

#include "generated/postgres_migrations.h"
#include "store/schema_compare.h"
#include "support/database.h"
#include "support/place.h"

namespace pawl::test {
namespace {

// Another version of the schema has another template.
std::string template_name() {
    std::vector<std::string_view> texts(
        postgres::sql::functions.begin(), postgres::sql::functions.end()
    );
    for (const auto& migration : postgres::sql::migrations) texts.push_back(migration.text);
    return "pawl_template_" + store::checksum(texts);
}

bool exists(Database& server, const std::string& name) {
    return server.number("select count(*) from pg_database where datname = '" + name + "'") == 1;
}

// Under a temporary name until it is complete: a test that crashes here leaves no incomplete
// template.
void create_template(Database& server, const std::string& name) {
    const std::string draft = name + "_draft";
    server.run("drop database if exists " + draft + " with (force)");
    server.run("create database " + draft);
    connect(with_parameter(
                with_database(test_server_url(), draft), std::string("schema=") + template_schema
            ))
        .install();
    server.run("alter database " + draft + " rename to " + name);
}

}  // namespace

std::string copy_template_database(const std::string& name) {
    const auto server = open_postgres_database(test_server_url());
    const std::string source = template_name();
    if (!exists(*server, source)) {
        server->run("select pg_advisory_lock(hashtext('" + source + "'))");
        if (!exists(*server, source)) create_template(*server, source);
        server->run("select pg_advisory_unlock(hashtext('" + source + "'))");
    }
    server->run("create database " + name + " template " + source);
    return name;
}

}  // namespace pawl::test
