#include "rowstore/run/run_finder.h"

#include <algorithm>

#include "model/counts.h"
#include "model/rules.h"
#include "rowstore/run/run_lookup.h"
#include "rowstore/statements.h"

namespace pawl::rowstore {

namespace {

// The value of the column run_group for runs of that status.
int group_of(RunStatus status) {
    switch (status) {
        case RunStatus::queued:
        case RunStatus::running:
            return 0;
        case RunStatus::paused:
            return 1;
        case RunStatus::success:
            return 2;
        case RunStatus::error:
            return 3;
        case RunStatus::cancelled:
            break;
    }
    return 4;
}

}  // namespace

RunFinder::RunFinder(Session& session, const RunFilter& filter, RunId before)
    : session_(session), filter_(filter) {
    if (filter.status) status_ = to_string(*filter.status);
    if (filter.created_from) from_ = *filter.created_from;
    if (filter.created_before) until_ = *filter.created_before;
    read_workflows();
    set_position(before);
}

void RunFinder::read_workflows() {
    if (filter_.workflow) {
        using Row = sql::row::WorkflowId;
        Rows rows = session_.query(sql::workflow_id, std::string_view(*filter_.workflow));
        if (!rows.next()) return;
        only_workflow_ = rows.id<QueueId>(Row::workflow_id);
        workflows_.push_back({only_workflow_, rows.flag(Row::is_flow)});
        return;
    }
    using Row = sql::row::WorkflowIds;
    Rows rows = session_.query(sql::workflow_ids);
    while (rows.next())
        workflows_.push_back({rows.id<QueueId>(Row::workflow_id), rows.flag(Row::is_flow)});
}

void RunFinder::set_position(RunId before) {
    if (before) {
        before_run_ = before.value();
        Rows rows = session_.query(sql::run_created, before);
        position_ = {rows.next() ? rows.time(0) : Timestamp::min(), before_run_};
    }
    if (until_ <= position_.at) position_ = {until_, std::numeric_limits<std::int64_t>::min()};
}

void RunFinder::walk(QueueId workflow, std::optional<RunStatus> status, std::int64_t limit) {
    if (status) return walk_group(group_of(*status), workflow, status, limit);
    for (const int group : {0, 1, 2, 3, 4}) walk_group(group, workflow, {}, limit);
}

void RunFinder::walk_unpaused(QueueId workflow, std::int64_t limit) {
    walk_group(group_of(RunStatus::queued), workflow, {}, limit);
}

void RunFinder::walk_group(
    int group, QueueId workflow, std::optional<RunStatus> status, std::int64_t limit
) {
    std::optional<std::string_view> name;
    if (status) name = to_string(*status);
    take(session_.query(
        sql::list_group,
        group,
        workflow,
        name,
        from_,
        filter_.include_deleted,
        position_.at,
        position_.run,
        limit
    ));
}

void RunFinder::walk_running_flow(QueueId flow, std::int64_t limit) {
    take(session_.query(
        sql::list_running_flow,
        flow,
        from_,
        filter_.include_deleted,
        position_.at,
        position_.run,
        limit
    ));
}

void RunFinder::walk_key(QueueId workflow, std::int64_t limit) {
    for (const store::Statement* statement :
         {&sql::list_keyed_runs, &sql::list_deleted_keyed_runs}) {
        if (statement == &sql::list_deleted_keyed_runs && !filter_.include_deleted) return;
        take(session_.query(
            *statement,
            workflow,
            filter_.idempotency_key,
            status_,
            from_,
            position_.at,
            position_.run,
            limit
        ));
    }
}

void RunFinder::walk_tag(std::int64_t reading, std::int64_t limit) {
    if (workflows_.empty()) return;
    take(session_.query(
        sql::list_tagged_runs,
        filter_.tag,
        only_workflow_,
        status_,
        from_,
        until_,
        filter_.idempotency_key,
        filter_.include_deleted,
        before_run_,
        reading,
        limit
    ));
}

bool RunFinder::has_more_tagged(std::int64_t behind) {
    return session_.query(sql::has_more_tagged, filter_.tag, before_run_, behind).next();
}

bool RunFinder::has_tag(RunId run) {
    return session_.query(sql::has_tag, filter_.tag, run).next();
}

void RunFinder::walk_all(std::int64_t limit) {
    take(session_.query(sql::list_runs, filter_.include_deleted, before_run_, limit));
}

bool RunFinder::pick_running() {
    std::vector<RunId> started;
    for (const Workflow& workflow : workflows_) {
        if (workflow.is_flow) continue;
        const std::int64_t left =
            model::rules::count_limit + 1 - static_cast<std::int64_t>(started.size());
        Rows rows = session_.query(sql::started_runs, workflow.id, left);
        while (rows.next()) started.push_back(rows.id<RunId>(0));
        if (static_cast<std::int64_t>(started.size()) > model::rules::count_limit) return false;
    }
    for (const RunId run : started) {
        take(session_.query(
            sql::match_run,
            run,
            QueueId(),
            to_string(RunStatus::running),
            from_,
            std::optional<std::string_view>(),
            filter_.include_deleted,
            position_.at,
            position_.run
        ));
    }
    return true;
}

std::vector<FoundRun> RunFinder::take_newest(std::size_t limit) {
    std::ranges::sort(found_, [](const FoundRun& a, const FoundRun& b) {
        return std::pair(a.created_at, a.id) > std::pair(b.created_at, b.id);
    });
    if (found_.size() > limit) found_.resize(limit);
    return std::move(found_);
}

void RunFinder::take(Rows&& rows) {
    using Row = store::row::FoundRun;
    while (rows.next())
        found_.push_back(
            {rows.id<RunId>(Row::run_id),
             to_run_status(rows.text(Row::status)),
             rows.time(Row::created_at)}
        );
}

}  // namespace pawl::rowstore
