// pawl install, pawl verify, pawl restored.
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

// What install() does about a difference that verify() found. Data cannot be restored.
std::string planned(const std::string& difference) {
    const bool is_data = difference.starts_with("table ") || difference.starts_with("column ");
    return difference + (is_data ? ": cannot be restored" : ": would be restored");
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
    if (found.version == 0) {
        changes.push_back(fmt::format("the schema would be created, version {}", newest));
    } else if (found.version < newest) {
        changes.push_back(
            fmt::format("the schema would be upgraded from version {} to {}", found.version, newest)
        );
    } else {
        for (const std::string& problem : found.problems) changes.push_back(planned(problem));
    }
    auto summary = json_object({{"dry_run", true}, {"schema_version", found.version}});
    summary = with_field(summary, "newest_version", std::to_string(newest));
    const auto nothing = fmt::format("nothing to do, schema version {}", newest);
    context.answer(
        with_field(summary, "changes", to_json(changes)), changes.empty() ? nothing : lines(changes)
    );
    return changes.empty() ? ExitCode::ok : ExitCode::failure;
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
    auto problems = found.problems;
    for (const LostWork& lost : found.lost_work)
        problems.push_back(to_string(lost) + " has no message");
    auto text = found.ok() ? fmt::format("no problem found, schema version {}", found.version)
                           : fmt::format("{}", fmt::join(problems, "\n"));
    context.answer(with_field(summary, "problems", to_json(problems)), text);
    if (found.ok()) return ExitCode::ok;
    if (found.problems.empty()) {
        context.remark("to restore the lost messages, run: pawl doctor --repair");
        return ExitCode::failure;
    }
    context.remark(
        found.version == 0
            ? "nothing is installed here; run: pawl install"
            : "run: pawl install   (it restores indexes, functions, views and constraints)"
    );
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
