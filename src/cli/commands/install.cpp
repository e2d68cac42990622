// pawl install, pawl verify, pawl restored.
#include <fmt/format.h>

#include "cli/frame/commands.h"
#include "cli/output/render.h"

namespace pawl::cli {

namespace {

std::string lines(const std::vector<std::string>& texts) {
    std::string all;
    for (const std::string& text : texts) all += text + "\n";
    return all;
}

struct InstallArguments {
    std::optional<std::string> compat;
};

InstallReport install(const Store& store, const std::optional<std::string>& compat) {
    if (!compat) return store.install();
    if (*compat != "pgflow")
        throw Error(
            ErrorCode::invalid_argument,
            fmt::format("--compat '{}' is unknown: use pgflow", *compat)
        );
    return store.install(Compat::pgflow);
}

ExitCode install(const Context& context, const InstallArguments& arguments) {
    ConnectOptions options;
    options.log = nullptr;  // the answer has it all
    const InstallReport done = install(context.connect(std::move(options)), arguments.compat);
    auto summary = json_object({{"installed", true}, {"schema_version", done.version}});
    summary = with_field(summary, "repaired", to_json(done.repaired));
    context.answer(
        with_field(summary, "problems", to_json(done.problems)),
        fmt::format(
            "{}{}installed, schema version {}",
            lines(done.repaired),
            lines(done.problems),
            done.version
        )
    );
    return done.ok() ? ExitCode::ok : ExitCode::failure;
}

ExitCode verify(const Context& context) {
    const SchemaReport found = context.connect().verify();
    const auto summary = json_object({{"ok", found.ok()}, {"schema_version", found.version}});
    auto problems = found.problems;
    for (const LostWork& lost : found.lost_work)
        problems.push_back(to_string(lost) + " has no message");
    auto text = found.ok() ? fmt::format("all is well, schema version {}", found.version)
                           : fmt::format("{}", fmt::join(problems, "\n"));
    context.answer(with_field(summary, "problems", to_json(problems)), text);
    if (found.ok()) return ExitCode::ok;
    if (found.problems.empty()) {
        context.remark("to restore what was lost, run: pawl doctor --repair");
        return ExitCode::failure;
    }
    context.remark(
        found.version == 0 ? "nothing is installed here; run: pawl install"
                           : "run: pawl install   (it restores what can be restored)"
    );
    return ExitCode::failure;
}

ExitCode restored(const Context& context) {
    const std::int64_t live = context.connect().restored();
    context.answer(
        json_object({{"restored", true}, {"live_messages", live}}),
        fmt::format("ids moved ahead, {} live messages fenced; workers may start", live)
    );
    return ExitCode::ok;
}

}  // namespace

void add_install_commands(const Command& root) {
    const auto arguments = std::make_shared<InstallArguments>();
    root.add("install", "Create, upgrade or repair the store's schema; safe to repeat")
        .option("--compat", arguments->compat, "Also create the names of another product: pgflow")
        .examples("  pawl install\n  pawl install --url 'postgresql://me@db/app?schema=tenant_a'")
        .run([arguments](const Context& context) { return install(context, *arguments); });
    root.add("verify", "Compare the store with what this pawl defines; exit 1 on any difference")
        .examples("  pawl verify --json")
        .run(verify);
    root.add("restored", "After restoring a backup, before workers start: fence what they held")
        .examples("  pawl restored --url postgresql://me@db/app")
        .run(restored);
}

}  // namespace pawl::cli
