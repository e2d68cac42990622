#include "support/workflow_test.h"

namespace pawl::seam {

void PrintTo(WriteStatus status, std::ostream* out) {
    switch (status) {
        case WriteStatus::done:
            *out << "done";
            return;
        case WriteStatus::lease_lost:
            *out << "lease_lost";
            return;
        case WriteStatus::cancelled:
            *out << "cancelled";
            return;
        case WriteStatus::busy:
            *out << "busy";
            return;
        case WriteStatus::rejected:
            *out << "rejected";
            return;
    }
}

}  // namespace pawl::seam

namespace pawl::test {

WorkflowInfo WorkflowTest::make_workflow(const std::string& name, const WorkflowOptions& options)
    const {
    return store().create_workflow(name, options);
}

RunId WorkflowTest::trigger(
    const std::string& name, const Json& input, const TriggerOptions& options
) const {
    return Trigger(NewRun{name, input, options}).execute(store()).id();
}

std::vector<RunId> WorkflowTest::trigger_many(int count, const std::string& name) const {
    std::vector<NewRun> runs;
    for (int i = 0; i < count; ++i) runs.push_back({name, Json{std::to_string(i)}, {}});
    std::vector<RunId> ids;
    for (const Run& run : store().trigger(runs)) ids.push_back(run.id());
    return ids;
}

seam::Claim WorkflowTest::claim(int count, const std::string& name, WorkerId worker) const {
    seam::ClaimRequest request;
    request.queues = {store().queue(name).info().id};
    request.max_messages = count;
    request.worker = worker;
    request.work = seam::Work::runs;
    return detail::Access::backend(store())->claim(request);
}

Held WorkflowTest::claim_one(const std::string& name, WorkerId worker) const {
    const seam::Claim got = claim(1, name, worker);
    if (got.messages.size() != 1 || got.runs.size() != 1 || !got.runs.front())
        throw std::runtime_error("expected a run of workflow " + name);
    return {got.messages.front(), *got.runs.front()};
}

std::vector<Held> WorkflowTest::claim_many(int count, const std::string& name) const {
    const seam::Claim got = claim(count, name);
    std::vector<Held> held;
    for (std::size_t i = 0; i < got.messages.size(); ++i)
        held.push_back({got.messages[i], got.runs.at(i).value()});
    return held;
}

Held WorkflowTest::trigger_and_claim(const std::string& name, const Json& input) const {
    const RunId run = trigger(name, input);
    Held held = claim_one(name);
    if (held.id() != run) throw std::runtime_error("another run was claimed");
    return held;
}

WriteStatus WorkflowTest::commit(const Write& write, Attempt attempt) const {
    return detail::Access::backend(store())->commit(std::span(&write, 1), attempt).front().status;
}

std::vector<WriteStatus> WorkflowTest::commit_all(const std::vector<Write>& writes, Attempt attempt)
    const {
    std::vector<WriteStatus> statuses;
    for (const auto& outcome : detail::Access::backend(store())->commit(writes, attempt))
        statuses.push_back(outcome.status);
    return statuses;
}

std::vector<std::string> WorkflowTest::step_ids(RunId run) const {
    std::vector<std::string> ids;
    for (const StepInfo& info : store().run(run).steps()) ids.push_back(info.id);
    return ids;
}

bool WorkflowTest::has_event(RunId run, const std::string& kind) const {
    const auto events = store().run(run).events();
    return std::any_of(events.begin(), events.end(), [&](const RunEvent& event) {
        return event.kind == kind;
    });
}

std::string WorkflowTest::event_kinds(RunId run) const {
    std::string kinds;
    for (const RunEvent& event : store().run(run).events())
        kinds += (kinds.empty() ? "" : ",") + event.kind;
    return kinds;
}

std::optional<Message> WorkflowTest::message_of(RunId run, const std::string& name) const {
    return store().queue(name).find(MessageId(run.value()));
}

model::RunError error_in(const std::optional<Json>& error) {
    return error ? model::to_run_error(*error) : model::RunError{};
}

namespace {

seam::StepWrite step_write(const std::string& id, int position, StepStatus status) {
    seam::StepWrite step;
    step.id = id;
    step.position = position;
    step.status = status;
    return step;
}

}  // namespace

Write checkpoint(
    const Lease& lease, const std::string& step, int position, const std::string& output
) {
    seam::StepWrite record = step_write(step, position, StepStatus::success);
    record.output = output;
    return {lease, Checkpoint{std::move(record)}};
}

Write running(const Lease& lease, const std::string& step, int position, int attempt) {
    seam::StepWrite record = step_write(step, position, StepStatus::running);
    record.attempt = attempt;
    return {lease, Checkpoint{std::move(record)}};
}

Write failed_step(const Lease& lease, const std::string& step, int position) {
    seam::StepWrite record = step_write(step, position, StepStatus::error);
    record.error = model::to_json({"permanent", "no luck", step, 1}).text;
    return {lease, Checkpoint{std::move(record)}};
}

Write retry_step(
    const Lease& lease, const std::string& step, int position, int attempt, Duration delay
) {
    Suspend retry;
    retry.step = step_write(step, position, StepStatus::pending);
    retry.step->attempt = attempt;
    retry.step->error = model::to_json({"transient", "not now", step, attempt}).text;
    retry.delay = delay;
    retry.last_error = "not now";
    return {lease, std::move(retry)};
}

Write pause_step(const Lease& lease, const std::string& step, int position, Duration check_after) {
    Suspend pause;
    pause.status = RunStatus::paused;
    pause.step = step_write(step, position, StepStatus::paused);
    pause.step->pause_message = "waits for a person";
    pause.step->pause_condition = "approved";
    pause.delay = check_after;
    return {lease, std::move(pause)};
}

Write sleep_step(const Lease& lease, const std::string& step, int position, Duration time) {
    Suspend sleep;
    sleep.status = RunStatus::paused;
    sleep.step = step_write(step, position, StepStatus::paused);
    sleep.step->wake_after_delay = true;
    sleep.delay = time;
    return {lease, std::move(sleep)};
}

Write success(const Lease& lease, const std::string& output) {
    return {lease, Finish{RunStatus::success, output}};
}

Write failure(const Lease& lease, const std::string& message) {
    return {lease, Finish{RunStatus::error, model::to_json({"permanent", message, {}, 0}).text}};
}

}  // namespace pawl::test
