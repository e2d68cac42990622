// pawl doctor: finds problems of a store, and repairs lost messages.
#include <algorithm>
#include <fmt/format.h>
#include <memory>

#include "cli/frame/commands.h"
#include "cli/output/render.h"
#include "cli/output/render_object.h"

namespace pawl::cli {

namespace {

struct DoctorArguments {
    enum class Repair { no, yes } repair = Repair::no;
};

// A problem must be fixed; a notice may be intended.
struct Finding {
    enum class Weight { problem, notice } weight = Weight::problem;
    std::string check;
    std::string message;
};
using Findings = std::vector<Finding>;

void check_lost_work(const Store& store, Findings& findings) {
    for (const LostWork& lost : store.find_lost_work())
        findings.push_back({Finding::Weight::problem, "runs", to_string(lost) + " has no message"});
}

void check_workers(const Store& store, Findings& findings) {
    for (const WorkerInfo& worker : store.workers()) {
        if (!worker.lost) continue;
        findings.push_back(
            {Finding::Weight::notice,
             "workers",
             fmt::format(
                 "worker {} ({} on {}, pid {}) is lost: its last heartbeat was at {}",
                 worker.id.value(),
                 worker.name,
                 worker.host,
                 worker.pid,
                 rfc3339_seconds(worker.heartbeat_at)
             )}
        );
    }
}

std::string paused_in_words(const QueueInfo& queue) {
    const bool plain = queue.kind == QueueKind::plain;
    return fmt::format(
        "{0} {1} is paused; resume it with: pawl {0} resume {1}",
        plain ? "queue" : "workflow",
        queue.name
    );
}

// "workflow order: 1 run is ready, no live worker handles it"
std::string unhandled_in_words(const QueueInfo& queue, const Count& ready) {
    const char* item = "message";
    if (queue.kind == QueueKind::workflow) item = "run";
    if (queue.kind == QueueKind::flow) item = "task";
    const bool one = ready.value == 1 && ready.exact;
    return fmt::format(
        "{} {}: {} {}{} ready, no live worker handles it",
        queue.kind == QueueKind::plain ? "queue" : to_string(queue.kind),
        queue.name,
        to_string(ready),
        item,
        one ? " is" : "s are"
    );
}

void check_queues(const Store& store, Findings& findings) {
    const auto all_stats = store.queue_stats();
    for (const QueueInfo& queue : store.queues()) {
        if (queue.paused)
            findings.push_back({Finding::Weight::notice, "queues", paused_in_words(queue)});
        const auto stats = std::ranges::find(all_stats, queue.name, &QueueStats::queue);
        if (queue.paused || stats == all_stats.end()) continue;
        if (stats->ready.value == 0 || stats->workers > 0) continue;
        findings.push_back(
            {Finding::Weight::notice, "queues", unhandled_in_words(queue, stats->ready)}
        );
    }
}

std::string text_of(const Findings& findings, const std::vector<LostWork>& repaired, int version) {
    std::string text;
    for (const LostWork& work : repaired) text += fmt::format("repaired  {}\n", to_string(work));
    for (const Finding& finding : findings) {
        text += fmt::format(
            "{}  {}\n",
            finding.weight == Finding::Weight::problem ? "problem " : "notice  ",
            finding.message
        );
    }
    if (findings.empty()) text += "no problems found\n";
    return text + fmt::format("schema    version {}", version);
}

Object json_of(const LostWork& lost) {
    Object object{{"run_id", lost.run.value()}, {"workflow", lost.workflow}};
    object["step"] = or_null(lost.step);
    object["task_index"] = lost.step.empty() ? Object() : Object(lost.task_index);
    return object;
}

std::string json_of(
    const Findings& findings, const std::vector<LostWork>& repaired, bool ok, int version
) {
    Object object{{"ok", ok}, {"schema_version", version}};
    object["problems"] = Object::array();
    object["notices"] = Object::array();
    object["repaired"] = Object::array();
    for (const Finding& finding : findings) {
        auto& list = object[finding.weight == Finding::Weight::problem ? "problems" : "notices"];
        list.push_back({{"check", finding.check}, {"message", finding.message}});
    }
    for (const LostWork& work : repaired) object["repaired"].push_back(json_of(work));
    return dump(object);
}

ExitCode doctor(const Context& context, const DoctorArguments& arguments) {
    const Store store = context.connect();
    const SchemaReport schema = store.verify();
    Findings findings;
    std::vector<LostWork> repaired;
    for (const std::string& problem : schema.problems())
        findings.push_back({Finding::Weight::problem, "schema", problem});
    // The other checks need an intact schema.
    if (schema.findings.empty()) {
        if (arguments.repair == DoctorArguments::Repair::yes) repaired = store.repair();
        check_lost_work(store, findings);
        check_workers(store, findings);
        check_queues(store, findings);
    }
    const bool ok = std::ranges::none_of(findings, [](const Finding& finding) {
        return finding.weight == Finding::Weight::problem;
    });
    context.answer(
        json_of(findings, repaired, ok, schema.version), text_of(findings, repaired, schema.version)
    );
    if (ok) return ExitCode::ok;
    context.remark(
        schema.findings.empty()
            ? "to restore the lost messages, run: pawl doctor --repair"
            : "the schema differs from what this version defines; run: pawl install"
    );
    return ExitCode::failure;
}

}  // namespace

void add_doctor_command(const Command& root) {
    const auto arguments = std::make_shared<DoctorArguments>();
    root.add(
            "doctor", "Check the schema, live runs, workers and queues; exit code 1 on any problem"
    )
        .flag(
            "--repair",
            arguments->repair,
            DoctorArguments::Repair::yes,
            "Restore the messages of runs and tasks that have lost them"
        )
        .examples("  pawl doctor\n  pawl doctor --repair --json")
        .run([arguments](const Context& context) { return doctor(context, *arguments); });
}

}  // namespace pawl::cli
