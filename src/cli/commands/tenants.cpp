// pawl tenants: lists the stores of a database or a folder.
#include "cli/frame/commands.h"
#include "cli/output/render.h"
#include "cli/output/table.h"

namespace pawl::cli {

namespace {

ExitCode tenants(const Context& context) {
    const auto found = context.connect().tenants();
    Table table({{"TENANT"}, {"SCHEMA VERSION", Align::right}});
    for (const Tenant& tenant : found)
        table.add({tenant.name, std::to_string(tenant.schema_version)});
    context.answer(json_array_of(found), table.text(context.view()));
    if (found.empty()) context.remark("no tenant is installed here; run: pawl install");
    return ExitCode::ok;
}

}  // namespace

void add_tenants_command(const Command& root) {
    root.add("tenants", "List the stores of this database, or next to this file")
        .examples("  pawl tenants --url postgresql://me@db/app\n  pawl tenants --url sqlite:app.db")
        .run(tenants);
}

}  // namespace pawl::cli
