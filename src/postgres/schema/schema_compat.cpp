#include "postgres/schema/schema_compat.h"

#include "generated/postgres_migrations.h"
#include "generated/postgres_sql.h"
#include "postgres/schema/schema_state.h"

namespace pawl::postgres {

namespace {

constexpr const char* compat_schema = "pgflow";

struct CompatState {
    std::string script;
    std::string catalogue;
};

CompatState state_of(const store::Catalogue& catalogue) {
    std::vector<std::string_view> texts;
    for (const auto& [name, object] : catalogue)
        texts.insert(texts.end(), {name.kind, name.name, object.definition});
    return {store::checksum({sql::compat_pgflow}), store::checksum(texts)};
}

void run_compat_script(Connection& connection) {
    connection.run_script(connection.expand(sql::compat_pgflow), "compat/pgflow");
}

// What the script creates in an empty schema.
store::Catalogue expected_compat(Connection& connection) {
    const ScriptSavepoint undone(connection);
    connection.run_script(std::string(sql::put_compat_aside.text), sql::put_compat_aside.name);
    run_compat_script(connection);
    return found_catalogue(connection, compat_schema);
}

std::vector<store::Difference> damage_of(
    const store::Catalogue& found, const store::Catalogue& expected
) {
    auto differences = store::compare(found, expected);
    std::erase_if(differences, [](const auto& difference) {
        return difference.what == store::Difference::What::unknown;
    });
    return differences;
}

// The script creates tables only if they are missing, so their constraints are compared and
// restored one by one. A difference that remains is reported by verify().
store::Catalogue restore_tables(Connection& connection) {
    const store::Catalogue expected = expected_compat(connection);
    for (const auto& difference : damage_of(found_catalogue(connection, compat_schema), expected)) {
        if (difference.object.kind != "constraint") continue;
        try {
            ScriptSavepoint savepoint(connection);
            run_lines(connection, difference.expected.restore, "restore");
            savepoint.keep();
        } catch (const Refused&) {  // NOLINT(bugprone-empty-catch): reported as a difference
        }
    }
    auto found = found_catalogue(connection, compat_schema);
    return damage_of(found, expected).empty() ? found : expected;
}

std::optional<CompatState> recorded_state(Connection& connection, const std::string& schema) {
    // A role without access to these names does not use them.
    Params table;
    table.text(compat_schema).text("installed");
    if (!connection.run(sql::can_read_table, table, IfAnswerLost::repeat).boolean(0, 0))
        return std::nullopt;
    Params params;
    params.text(schema);
    const Rows rows = connection.run(sql::compat_state, params, IfAnswerLost::repeat);
    if (rows.empty()) return std::nullopt;
    using Row = sql::row::CompatState;
    return CompatState{rows.string(0, Row::script), rows.string(0, Row::catalogue)};
}

}  // namespace

bool has_compat(Connection& connection, const std::string& schema) {
    return recorded_state(connection, schema).has_value();
}

void apply_compat(Connection& connection, const std::string& schema) {
    const bool is_new = found_catalogue(connection, compat_schema).empty();
    run_compat_script(connection);
    const CompatState state =
        state_of(is_new ? found_catalogue(connection, compat_schema) : restore_tables(connection));
    Params params;
    params.text(schema).text(state.script).text(state.catalogue);
    connection.run(sql::record_compat, params, IfAnswerLost::doubt);
}

std::optional<std::string> compat_problem(Connection& connection, const std::string& schema) {
    const auto recorded = recorded_state(connection, schema);
    if (!recorded) return std::nullopt;
    const CompatState found = state_of(found_catalogue(connection, compat_schema));
    if (recorded->script != found.script)
        return "schema pgflow was created by another version of pawl";
    if (recorded->catalogue != found.catalogue)
        return "schema pgflow is not as pawl has created it";
    return std::nullopt;
}

}  // namespace pawl::postgres
