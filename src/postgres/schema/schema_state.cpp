#include "postgres/schema/schema_state.h"

#include <algorithm>
#include <fmt/format.h>

#include "generated/postgres_migrations.h"
#include "generated/postgres_sql.h"

namespace pawl::postgres {

namespace {

// The manifest's own row: the checksum of all others, of the scripts and of the server's version.
const store::SchemaObjectName manifest_checksum{"manifest", "checksum"};

void quietly(Connection& connection, const std::string& script) noexcept {
    if (connection.broken()) return;
    try {
        connection.run_script(script, script);
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): the server rolls back itself
    }
}

void run(Connection& connection, const store::Statement& statement) {
    connection.run_script(connection.expand(statement.text), statement.name);
}

std::string checksum_of(Connection& connection, const store::Catalogue& catalogue) {
    const Rows server = connection.run(sql::server_version, {}, IfAnswerLost::repeat);
    const std::string version = server.string(0, 0);
    std::vector<std::string_view> texts{version};
    for (const auto& migration : sql::migrations) texts.push_back(migration.text);
    for (const auto file : sql::functions) texts.push_back(file);
    for (const auto& [name, object] : catalogue)
        texts.insert(texts.end(), {name.kind, name.name, object.definition});
    return store::checksum(texts);
}

}  // namespace

int library_version() {
    return sql::migrations.back().version;
}

std::string functions_checksum() {
    return store::checksum({sql::functions.begin(), sql::functions.end()});
}

void apply_functions(Connection& connection) {
    for (const auto file : sql::functions)
        connection.run_script(connection.expand(file), "functions");
}

void apply_scripts(Connection& connection, int version) {
    for (const auto& migration : sql::migrations) {
        if (migration.version > version)
            connection.run_script(connection.expand(migration.text), migration.name);
    }
    apply_functions(connection);
}

void run_lines(Connection& connection, std::string_view script, std::string_view name) {
    while (!script.empty()) {
        const auto line = script.substr(0, script.find('\n'));
        connection.run_script(std::string(line), name);
        script.remove_prefix(std::min(script.size(), line.size() + 1));
    }
}

store::Catalogue found_catalogue(Connection& connection, const std::string& schema) {
    Params params;
    params.text(schema);
    const Rows rows = connection.run(sql::catalogue, params, IfAnswerLost::repeat);
    using Row = store::row::Catalogue;
    store::Catalogue catalogue;
    for (int i = 0; i < rows.size(); ++i) {
        catalogue[{rows.string(i, Row::kind), rows.string(i, Row::name)}] = {
            rows.string(i, Row::table_name),
            rows.string(i, Row::definition),
            rows.string(i, Row::restore)};
    }
    return catalogue;
}

store::Catalogue expected_catalogue(Connection& connection, const std::string& schema) {
    const ScriptSavepoint undone(connection);
    run(connection, sql::put_schema_aside);
    apply_scripts(connection, 0);
    return found_catalogue(connection, schema);
}

std::optional<store::Catalogue> recorded_catalogue(Connection& connection) {
    ScriptSavepoint savepoint(connection);
    std::optional<Rows> rows;
    try {
        rows = connection.run(sql::manifest, {}, IfAnswerLost::repeat);
    } catch (const Refused&) {  // the table is missing: nothing is recorded
        return std::nullopt;
    }
    savepoint.keep();
    using Row = sql::row::Manifest;
    store::Catalogue catalogue;
    std::string recorded;
    for (int i = 0; i < rows->size(); ++i) {
        store::SchemaObjectName name{rows->string(i, Row::kind), rows->string(i, Row::name)};
        if (name == manifest_checksum) {
            recorded = rows->string(i, Row::definition);
        } else {
            catalogue[std::move(name)] = {{}, rows->string(i, Row::definition), {}};
        }
    }
    if (recorded != checksum_of(connection, catalogue)) return std::nullopt;
    return catalogue;
}

void create_manifest(Connection& connection) {
    run(connection, sql::create_manifest);
}

void record_catalogue(Connection& connection, const store::Catalogue& expected) {
    std::vector<std::string> kinds{manifest_checksum.kind};
    std::vector<std::string> names{manifest_checksum.name};
    std::vector<std::string> definitions{checksum_of(connection, expected)};
    for (const auto& [name, object] : expected) {
        kinds.push_back(name.kind);
        names.push_back(name.name);
        definitions.push_back(object.definition);
    }
    Params params;
    params.text_array(kinds).text_array(names).text_array(definitions);
    connection.run(sql::clear_manifest, {}, IfAnswerLost::doubt);
    connection.run(sql::record_manifest, params, IfAnswerLost::doubt);
}

namespace {
Rows read_owner(Connection& connection, const std::string& schema) {
    Params params;
    params.text(schema);
    return connection.run(sql::schema_owner, params, IfAnswerLost::repeat);
}
}  // namespace

std::string unsafe_creators(Connection& connection, const std::string& schema) {
    const Rows rows = read_owner(connection, schema);
    const std::string creators =
        rows.empty() ? std::string() : rows.string(0, sql::row::SchemaOwner::creators);
    if (creators.empty()) return {};
    return fmt::format(
        "{1} may create objects in schema '{0}' and could change what pawl's functions do: run: "
        "revoke create on schema {0} from {1}",
        schema,
        creators
    );
}

std::string unsafe_schema(Connection& connection, const std::string& schema) {
    const Rows rows = read_owner(connection, schema);
    using Row = sql::row::SchemaOwner;
    if (rows.empty() || rows.boolean(0, Row::is_safe)) return unsafe_creators(connection, schema);
    return fmt::format(
        "schema '{0}' belongs to role '{1}', which would get the rights of '{2}' by what '{2}' "
        "installs there: install as '{1}', or run: alter schema {0} owner to {2}",
        schema,
        rows.string(0, Row::owner),
        rows.string(0, Row::role)
    );
}

ScriptTransaction::ScriptTransaction(Connection& connection) : connection_(connection) {
    connection_.run_script("begin", "begin");
}

ScriptTransaction::~ScriptTransaction() {
    if (!done_) quietly(connection_, "rollback");
}

void ScriptTransaction::commit() {
    connection_.run_script("commit", "commit");
    done_ = true;
}

ScriptSavepoint::ScriptSavepoint(Connection& connection) : connection_(connection) {
    connection_.run_script("savepoint pawl_part", "savepoint");
}

ScriptSavepoint::~ScriptSavepoint() {
    if (!done_) quietly(connection_, "rollback to pawl_part; release pawl_part");
}

void ScriptSavepoint::keep() {
    connection_.run_script("release pawl_part", "release");
    done_ = true;
}

}  // namespace pawl::postgres
