// pawl retention list | set, and pawl prune.
#include <fmt/format.h>
#include <memory>

#include "cli/frame/commands.h"
#include "cli/frame/error_output.h"
#include "cli/frame/literals.h"
#include "cli/output/render.h"
#include "cli/output/table.h"

namespace pawl::cli {

namespace {

struct RetentionArguments {
    RetentionKind kind = RetentionKind::success;
    std::string name;
    std::optional<Duration> age;
    std::optional<int> count;
    enum class Limit { given, none } limit = Limit::given;
};

std::string name_or_store(const std::string& name) {
    if (name == all_names) return "(all)";
    return name.empty() ? "(the store)" : name;
}

std::string keep_in_words(const Keep& keep) {
    if (!keep.age && !keep.count) return "forever";
    std::string text;
    if (keep.age) text = keep.age == 0ms ? "not at all" : "for " + short_duration(*keep.age);
    if (keep.count)
        text += fmt::format("{}the newest {}", text.empty() ? "" : ", and at most ", *keep.count);
    return text;
}

ExitCode list_policies(const Context& context) {
    const auto policies = context.connect().retention();
    Table table({{"OF"}, {"KIND"}, {"KEPT"}});
    for (const auto& policy : policies)
        table.add(
            {name_or_store(policy.name),
             std::string(to_string(policy.kind)),
             keep_in_words(policy.keep)}
        );
    context.answer(json_array_of(policies), table.text(context.view()));
    return ExitCode::ok;
}

void set_retention(const Store& store, const RetentionArguments& arguments, const Keep& keep) {
    try {
        store.set_retention(arguments.kind, arguments.name, keep);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::workflow_queue) throw;
        throw HintedError(
            error.code(),
            error.what(),
            fmt::format(
                "run: pawl retention set success {0} --age 30d   (or failed, or events)",
                arguments.name
            )
        );
    }
}

ExitCode set_policy(const Context& context, const RetentionArguments& arguments) {
    const bool limited = arguments.age || arguments.count;
    if (limited == (arguments.limit == RetentionArguments::Limit::none))
        throw UsageError("give --age, --count or both; or --forever");
    const Keep keep{arguments.age, arguments.count};
    set_retention(context.connect(), arguments, keep);
    context.answer(
        to_json(RetentionPolicy{arguments.kind, arguments.name, keep}),
        fmt::format(
            "{} of {} kept {}",
            to_string(arguments.kind),
            name_or_store(arguments.name),
            keep_in_words(keep)
        )
    );
    return ExitCode::ok;
}

std::string describe(const View& view, const PruneReport& report) {
    Table table({{"OF"}, {"KIND"}, {report.dry_run ? "WOULD BE PRUNED" : "PRUNED", Align::right}});
    for (const auto& part : report.parts)
        table.add(
            {name_or_store(part.name),
             std::string(to_string(part.kind)),
             std::to_string(part.pruned)}
        );
    return table.text(view);
}

void add_set_policy(const Command& group) {
    const auto arguments = std::make_shared<RetentionArguments>();
    group.add("set", "Set how long data of one kind is kept")
        .argument("KIND", arguments->kind, "The kind of data")
        .optional_argument(
            "NAME",
            arguments->name,
            "The workflow or queue; '*' means all that have no policy of their own"
        )
        .option("--age", arguments->age, "Remove data that is older than this")
        .option("--count", arguments->count, "Keep this many of the newest, and remove the others")
        .flag(
            "--forever",
            arguments->limit,
            RetentionArguments::Limit::none,
            "Keep everything (default, except deleted and workers: 7d)"
        )
        .examples(
            "  pawl retention set success zip_files --age 30d\n"
            "  pawl retention set archive mail --age 7d --count 100000\n"
            "  pawl retention set outbox --age 3d\n"
            "  pawl retention set failed '*' --age 90d\n"
            "  pawl retention set success zip_files --forever"
        )
        .run([arguments](const Context& context) { return set_policy(context, *arguments); });
}

void add_clear_policy(const Command& group) {
    const auto arguments = std::make_shared<RetentionArguments>();
    group.add("clear", "Remove a policy; then the policy for all applies, if there is one")
        .argument("KIND", arguments->kind, "The kind of data")
        .optional_argument(
            "NAME", arguments->name, "The workflow or queue; '*' means the policy for all"
        )
        .examples("  pawl retention clear success zip_files\n  pawl retention clear failed '*'")
        .run([arguments](const Context& context) {
            context.connect().clear_retention(arguments->kind, arguments->name);
            context.answer(
                json_object(
                    {{"kind", std::string(to_string(arguments->kind))},
                     {"name", arguments->name},
                     {"cleared", true}}
                ),
                fmt::format(
                    "{} of {} has no policy now",
                    to_string(arguments->kind),
                    name_or_store(arguments->name)
                )
            );
            return ExitCode::ok;
        });
}

}  // namespace

void add_retention_commands(const Command& root) {
    const auto group = root.add("retention", "Show and set how long data is kept");
    group.examples(
        "  pawl retention list\n"
        "  pawl retention set success zip_files --age 30d\n"
        "  pawl retention clear success zip_files"
    );
    group.add("list", "List the policies; data without a policy is kept forever")
        .examples("  pawl retention list")
        .run(list_policies);
    add_set_policy(group);
    add_clear_policy(group);
    const auto options = std::make_shared<PruneOptions>();
    root.add("prune", "Remove now what the retention policies allow")
        .flag("--dry-run", options->dry_run, true, "Only count what would be removed")
        .option(
            "--share",
            options->share,
            "Percentage of time to spend pruning; the rest is pauses (default 50)"
        )
        .option(
            "--batch",
            options->batch_rows,
            "Remove at most this many rows per transaction (default 500)"
        )
        .examples("  pawl prune --dry-run\n  pawl prune --share 10")
        .run([options](const Context& context) {
            const PruneReport report = context.connect().prune(*options);
            context.answer(to_json(report), describe(context.view(), report));
            return ExitCode::ok;
        });
}

}  // namespace pawl::cli
