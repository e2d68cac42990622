#include <fmt/format.h>

#include "generated/postgres_sql.h"
#include "postgres/postgres_store.h"
#include "postgres/user_transaction.h"

namespace pawl::postgres {

namespace {

// Tags beside the runs: tags[i] belongs to run places[i], counted from 1.
struct Tags {
    std::vector<int> places;
    std::vector<std::string_view> tags;
};

Tags tags_of(std::span<const NewRun> runs) {
    Tags all;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        for (const std::string& tag : runs[i].options.tags) {
            all.places.push_back(static_cast<int>(i) + 1);
            all.tags.emplace_back(tag);
        }
    }
    return all;
}

std::optional<std::int64_t> parent_of(const NewRun& run) {
    if (!run.options.parent) return std::nullopt;
    return run.options.parent.value();
}

std::optional<std::string_view> key_of(const NewRun& run) {
    if (!run.options.idempotency_key) return std::nullopt;
    return *run.options.idempotency_key;
}

Params trigger_params(std::span<const NewRun> runs, Wake wake) {
    std::vector<std::string_view> workflows;
    std::vector<std::string_view> inputs;
    std::vector<int> priorities;
    std::vector<std::int64_t> delays_ms;
    std::vector<std::optional<Timestamp>> ats;
    std::vector<std::optional<std::string_view>> keys;
    std::vector<std::optional<int>> max_attempts;
    std::vector<std::optional<std::int64_t>> parents;
    for (const NewRun& run : runs) {
        workflows.emplace_back(run.workflow);
        inputs.emplace_back(run.input.text);
        priorities.push_back(run.options.priority);
        delays_ms.push_back(run.options.delay.count());
        ats.push_back(run.options.at);
        keys.push_back(key_of(run));
        max_attempts.push_back(run.options.max_attempts);
        parents.push_back(parent_of(run));
    }
    const Tags tags = tags_of(runs);
    Params params;
    params.text_array(workflows).text_array(inputs).int4_array(priorities).int8_array(delays_ms);
    params.time_array(ats).text_array(keys).int4_array(max_attempts).int8_array(parents);
    params.int4_array(tags.places).text_array(tags.tags).boolean(wake == Wake::in_transaction);
    return params;
}

std::vector<store::Triggered> read_triggered(const Rows& rows) {
    const auto ids = rows.int8_array(0, 0);
    const auto created = rows.boolean_array(0, 1);
    std::vector<store::Triggered> triggered;
    triggered.reserve(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) triggered.push_back({RunId(ids[i]), created[i]});
    return triggered;
}

// By a read: a failing statement would end the caller's transaction.
void require_workflows(UserTransaction& mine, std::span<const NewRun> runs) {
    std::vector<std::string_view> names;
    for (const NewRun& run : runs) names.emplace_back(run.workflow);
    Params params;
    params.text_array(names);
    const Rows found = mine.run(sql::resolve_queues, params);
    for (std::size_t i = 0; i < runs.size(); ++i) {
        if (found.boolean(static_cast<int>(i), 1)) continue;
        throw Error(
            ErrorCode::workflow_not_found,
            fmt::format("workflow '{}' does not exist: create it first", runs[i].workflow)
        );
    }
}

}  // namespace

std::vector<store::Triggered> PostgresStore::trigger(std::span<const NewRun> runs) {
    if (runs.empty()) return {};
    const Wake wake = notifier_.next();
    const Rows rows = call(sql::trigger_batch, trigger_params(runs, wake), Access::write);
    for (const auto workflow : rows.int8_array(0, 2)) wake_queue(QueueId(workflow), wake);
    return read_triggered(rows);
}

std::vector<store::Triggered> PostgresStore::trigger_in(
    Transaction transaction, std::span<const NewRun> runs
) {
    UserTransaction mine(transaction, target_.schema);
    if (runs.empty()) return {};
    require_workflows(mine, runs);
    return read_triggered(mine.run(sql::trigger_batch, trigger_params(runs, Wake::in_transaction)));
}

}  // namespace pawl::postgres
