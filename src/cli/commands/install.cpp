// pawl install, pawl verify, pawl restored.
#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <pawl/install_script.h>

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
    enum class Mode { install, dry_run, print_sql } mode = Mode::install;
    int from_version = 0;
};

struct Versions {
    int found = 0;
    int newest = 0;
};

// "index messages_ready is missing: would be created"
std::string planned(const SchemaFinding& finding, const Versions& versions) {
    const bool is_schema = finding.kind == "schema";
    switch (finding.action) {
        case InstallAction::create:
            if (is_schema)
                return fmt::format("the schema would be created, version {}", versions.newest);
            return finding.problem + ": would be created";
        case InstallAction::replace:
            return finding.problem + ": would be replaced";
        case InstallAction::migrate:
            return fmt::format(
                "the schema would be migrated from version {} to {}",
                versions.found,
                versions.newest
            );
        case InstallAction::keep:
            return finding.problem + ": would stay as it is";
        case InstallAction::by_hand:
            return finding.problem + ": cannot be restored by install";
    }
    return finding.problem;
}

std::string finding_json(const SchemaFinding& finding, const std::string& text) {
    auto object = with_field("{}", "kind", to_json(finding.kind));
    object = with_field(object, "name", to_json(finding.name));
    object = with_field(object, "action", to_json(std::string(to_string(finding.action))));
    return with_field(object, "text", to_json(text));
}

bool is_kept(const SchemaFinding& finding) {
    return finding.action == InstallAction::keep;
}

// Whether install() would change the schema.
bool is_repaired(const SchemaFinding& finding) {
    return !is_kept(finding) && finding.action != InstallAction::by_hand;
}

ExitCode plan(const Context& context) {
    const int newest = install_script(context.url).version;
    const SchemaReport found = context.connect().verify();
    if (found.version > newest)
        throw Error(
            ErrorCode::schema_too_new,
            fmt::format(
                "the schema has version {}, this program knows up to {}", found.version, newest
            )
        );
    std::vector<std::string> changes;
    std::vector<std::string> findings;
    for (const SchemaFinding& finding : found.findings) {
        changes.push_back(planned(finding, {found.version, newest}));
        findings.push_back(finding_json(finding, changes.back()));
    }
    auto summary = json_object({{"dry_run", true}, {"schema_version", found.version}});
    summary = with_field(summary, "newest_version", std::to_string(newest));
    const auto nothing = fmt::format("nothing to do, schema version {}", newest);
    context.answer(
        with_field(
            with_field(summary, "changes", to_json(changes)), "findings", json_array(findings)
        ),
        changes.empty() ? nothing : lines(changes)
    );
    return std::ranges::all_of(found.findings, is_kept) ? ExitCode::ok : ExitCode::failure;
}

ExitCode print_sql(const Context& context, int from_version) {
    const InstallScript script = install_script(context.url, from_version);
    const auto json = json_object({{"schema_version", script.version}});
    context.answer(with_field(json, "sql", to_json(script.text)), script.text);
    return ExitCode::ok;
}

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
    using Mode = InstallArguments::Mode;
    if (arguments.from_version != 0 && arguments.mode != Mode::print_sql)
        throw UsageError("--from is an option of --sql");
    if (arguments.mode == Mode::dry_run) return plan(context);
    if (arguments.mode == Mode::print_sql) return print_sql(context, arguments.from_version);
    ConnectOptions options;
    options.log = nullptr;  // the answer has every repair
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
    auto problems = found.problems();
    for (const LostWork& lost : found.lost_work)
        problems.push_back(to_string(lost) + " has no message");
    auto text = found.ok() ? fmt::format("no problem found, schema version {}", found.version)
                           : fmt::format("{}", fmt::join(problems, "\n"));
    context.answer(with_field(summary, "problems", to_json(problems)), text);
    if (found.ok()) return ExitCode::ok;
    if (found.findings.empty()) {
        context.remark("to restore the lost messages, run: pawl doctor --repair");
        return ExitCode::failure;
    }
    if (found.version == 0) {
        context.remark("nothing is installed here; run: pawl install");
    } else if (std::ranges::any_of(found.findings, is_repaired)) {
        context.remark("run: pawl install   (pawl install --dry-run shows what it would do)");
    }
    return ExitCode::failure;
}

ExitCode restored(const Context& context) {
    const std::int64_t live = context.connect().restored();
    context.answer(
        json_object({{"restored", true}, {"live_messages", live}}),
        fmt::format("ids moved ahead, {} fenced; workers may start", counted(live, "live message"))
    );
    return ExitCode::ok;
}

}  // namespace

void add_install_commands(const Command& root) {
    const auto arguments = std::make_shared<InstallArguments>();
    using Mode = InstallArguments::Mode;
    root.add("install", "Create, upgrade or repair the schema of the store; safe to repeat")
        .option("--compat", arguments->compat, "Also create the names of another product: pgflow")
        .flag(
            "--dry-run",
            arguments->mode,
            Mode::dry_run,
            "Show what would be done; exit code 1 if anything"
        )
        .flag(
            "--sql",
            arguments->mode,
            Mode::print_sql,
            "Print the SQL for psql or sqlite3; does not connect"
        )
        .option(
            "--from", arguments->from_version, "With --sql: the installed version (default 0: none)"
        )
        .exclusive({"--dry-run", "--sql", "--compat"})
        .examples(
            "  pawl install\n"
            "  pawl install --url 'postgresql://me@db/app?schema=tenant_a'\n"
            "  pawl install --dry-run\n"
            "  pawl install --sql --url postgresql://db/app | psql -h db app"
        )
        .run([arguments](const Context& context) { return install(context, *arguments); });
    root.add(
            "verify",
            "Compare the schema with what this version defines; exit code 1 on any difference"
    )
        .examples("  pawl verify --json")
        .run(verify);
    root.add(
            "restored",
            "Fence off earlier holders after a backup was restored, before workers start"
    )
        .examples("  pawl restored --url postgresql://me@db/app")
        .run(restored);
}

}  // namespace pawl::cli
