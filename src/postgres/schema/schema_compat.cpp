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

CompatState wanted_state(Connection& connection) {
    const store::Catalogue found = found_catalogue(connection, compat_schema);
    std::vector<std::string_view> texts;
    for (const auto& [name, object] : found)
        texts.insert(texts.end(), {name.kind, name.name, object.definition});
    return {store::checksum({sql::compat_pgflow}), store::checksum(texts)};
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
    connection.run_script(connection.expand(sql::compat_pgflow), "compat/pgflow");
    const CompatState state = wanted_state(connection);
    Params params;
    params.text(schema).text(state.script).text(state.catalogue);
    connection.run(sql::record_compat, params, IfAnswerLost::doubt);
}

std::optional<std::string> compat_problem(Connection& connection, const std::string& schema) {
    const auto recorded = recorded_state(connection, schema);
    if (!recorded) return std::nullopt;
    const CompatState wanted = wanted_state(connection);
    if (recorded->script != wanted.script)
        return "schema pgflow was created by another version of pawl";
    if (recorded->catalogue != wanted.catalogue)
        return "schema pgflow is not as pawl has created it";
    return std::nullopt;
}

}  // namespace pawl::postgres
