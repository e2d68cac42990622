// pawl install, pawl verify.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/render.h"

namespace pawl::cli {

namespace {

ExitCode install(const Context& context) {
    const Store store = context.connect();
    store.install();
    const int version = store.verify().version;
    context.answer(
        json_object({{"installed", true}, {"schema_version", version}}),
        fmt::format("installed, schema version {}", version)
    );
    return ExitCode::ok;
}

ExitCode verify(const Context& context) {
    const SchemaReport found = context.connect().verify();
    const auto summary = json_object({{"ok", found.ok()}, {"schema_version", found.version}});
    auto text = found.ok() ? fmt::format("all is well, schema version {}", found.version)
                           : fmt::format("{}", fmt::join(found.problems, "\n"));
    context.answer(with_field(summary, "problems", to_json(found.problems)), text);
    if (found.ok()) return ExitCode::ok;
    context.remark(
        found.version == 0 ? "nothing is installed here; run: pawl install"
                           : "the schema is not what pawl install makes; try: pawl install"
    );
    return ExitCode::failure;
}

}  // namespace

void add_install_commands(const Command& root) {
    root.add("install", "Create or upgrade the store's schema; safe to repeat")
        .examples("  pawl install\n  pawl install --url 'postgresql://me@db/app?schema=tenant_a'")
        .run(install);
    root.add("verify", "Compare the store with what install makes; exit 1 on any difference")
        .examples("  pawl verify --json")
        .run(verify);
}

}  // namespace pawl::cli
