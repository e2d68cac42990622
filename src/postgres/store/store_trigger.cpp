#include <algorithm>
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

Params names_of(std::span<const NewRun> runs) {
    std::vector<std::string_view> names;
    for (const NewRun& run : runs) names.emplace_back(run.workflow);
    Params params;
    params.text_array(names);
    return params;
}

// Takes the rows of resolve_queues(). By a read, because a failing statement would abort the
// transaction of a caller.
void require_workflows(const Rows& found, std::span<const NewRun> runs) {
    using Row = sql::row::ResolveQueues;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const std::string& name = runs[i].workflow;
        if (!found.boolean(static_cast<int>(i), Row::is_workflow))
            throw Error(
                ErrorCode::workflow_not_found,
                fmt::format(model::texts::workflow_missing, name, name)
            );
        if (runs[i].flow && !found.boolean(static_cast<int>(i), Row::is_flow))
            throw Error(
                ErrorCode::flow_not_found, fmt::format(model::texts::flow_missing, name, name)
            );
    }
}

}  // namespace

std::vector<seam::Triggered> PostgresStore::trigger(std::span<const NewRun> runs) {
    if (runs.empty()) return {};
    if (std::ranges::any_of(runs, &NewRun::flow))
        require_workflows(call(sql::resolve_queues, names_of(runs), IfAnswerLost::repeat), runs);
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
    require_workflows(user_tx.run(sql::resolve_queues, names_of(runs)), runs);
    return read_triggered(
        user_tx.run(trigger_statement(runs), trigger_params(runs, Wake::in_transaction))
    );
}

}  // namespace pawl::postgres
