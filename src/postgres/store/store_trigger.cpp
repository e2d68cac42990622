#include <fmt/format.h>

#include "generated/postgres_sql.h"
#include "model/texts.h"
#include "postgres/batch/trigger_params.h"
#include "postgres/driver/user_transaction.h"
#include "postgres/store/postgres_store.h"

namespace pawl::postgres {

namespace {

// The most common call, one run without special options, has a separate function.
bool is_single_plain(std::span<const NewRun> runs) {
    return runs.size() == 1 && is_plain(runs.front());
}

const store::Statement& trigger_statement(std::span<const NewRun> runs) {
    return is_single_plain(runs) ? sql::trigger_one : sql::trigger_batch;
}

Params trigger_params(std::span<const NewRun> runs, Wake wake) {
    Params params;
    if (is_single_plain(runs)) {
        add_plain_trigger_params(params, runs.front());
    } else {
        std::vector<const NewRun*> all;
        all.reserve(runs.size());
        for (const NewRun& run : runs) all.push_back(&run);
        add_trigger_params(params, all);
    }
    params.boolean(wake == Wake::in_transaction);
    return params;
}

std::vector<seam::Triggered> read_triggered(const Rows& rows) {
    const auto ids = rows.int8_array(0, store::row::Triggered::run_ids);
    const auto created = rows.boolean_array(0, store::row::Triggered::created);
    std::vector<seam::Triggered> triggered;
    triggered.reserve(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) triggered.push_back({RunId(ids[i]), created[i]});
    return triggered;
}

// By a read, because a failing statement would abort the caller's transaction.
void require_workflows(UserTransaction& user_tx, std::span<const NewRun> runs) {
    std::vector<std::string_view> names;
    for (const NewRun& run : runs) names.emplace_back(run.workflow);
    Params params;
    params.text_array(names);
    const Rows found = user_tx.run(sql::resolve_queues, params);
    for (std::size_t i = 0; i < runs.size(); ++i) {
        if (found.boolean(static_cast<int>(i), sql::row::ResolveQueues::is_workflow)) continue;
        throw Error(
            ErrorCode::workflow_not_found,
            fmt::format(model::texts::workflow_missing, runs[i].workflow, runs[i].workflow)
        );
    }
}

}  // namespace

std::vector<seam::Triggered> PostgresStore::trigger(std::span<const NewRun> runs) {
    if (runs.empty()) return {};
    const Wake wake = notifier_.next();
    const Rows rows = producer_call(trigger_statement(runs), trigger_params(runs, wake));
    for (const auto workflow : rows.int8_array(0, store::row::Triggered::workflow_ids))
        notify(QueueId(workflow), wake);
    return read_triggered(rows);
}

std::vector<seam::Triggered> PostgresStore::trigger_in(
    Transaction transaction, std::span<const NewRun> runs
) {
    UserTransaction user_tx(transaction, target_.schema);
    if (runs.empty()) return {};
    require_workflows(user_tx, runs);
    return read_triggered(
        user_tx.run(trigger_statement(runs), trigger_params(runs, Wake::in_transaction))
    );
}

}  // namespace pawl::postgres
