#include "sqlite/run_list.h"

#include <algorithm>
#include <limits>

#include "generated/sqlite_sql.h"
#include "sqlite/run_state.h"

namespace pawl::sqlite {

namespace {

class Lister {
public:
    Lister(Session& session, const RunFilter& filter, const RunPage& page)
        : session_(session),
          filter_(filter),
          before_(page.before ? page.before.value() : std::numeric_limits<std::int64_t>::max()),
          limit_(page.limit) {
        if (filter.status) status_ = to_string(*filter.status);
    }

    std::vector<ListedRun> list() {
        if (filter_.workflow) {
            workflow_ = find_workflow(*filter_.workflow);
            if (!workflow_) return {};
        }
        if (filter_.tag) {
            list_tagged();
        } else if (const store::Statement* narrow = narrow_statement()) {
            list_narrow(*narrow);
        } else if (workflow_) {
            list_of_workflow(sql::list_workflow_runs, workflow_);
        } else {
            list_any();
        }
        return std::move(found_);
    }

private:
    [[nodiscard]] bool by_key() const {
        return filter_.idempotency_key && !filter_.include_deleted;
    }

    // Where a partial index holds few runs of each workflow; null: there is none.
    [[nodiscard]] const store::Statement* narrow_statement() const {
        if (by_key()) return &sql::list_keyed_runs;
        if (!filter_.status || *filter_.status == RunStatus::success) return nullptr;
        return is_finished(*filter_.status) ? &sql::list_failed_runs : &sql::list_live_runs;
    }

    // Of several workflows: the newest of each, then the newest of all.
    void list_narrow(const store::Statement& statement) {
        for (const QueueId workflow : workflow_ ? std::vector{workflow_} : workflows()) {
            if (by_key()) {
                list_keyed(workflow);
            } else {
                list_of_workflow(statement, workflow);
            }
        }
        std::ranges::sort(found_, std::ranges::greater(), &ListedRun::id);
        if (limit_ >= 0 && found_.size() > static_cast<std::size_t>(limit_))
            found_.resize(static_cast<std::size_t>(limit_));
    }

    void list_of_workflow(const store::Statement& statement, QueueId workflow) {
        take(session_.query(
            statement,
            workflow,
            status_,
            filter_.created_from,
            filter_.created_before,
            filter_.idempotency_key,
            filter_.include_deleted,
            before_,
            limit_
        ));
    }

    void list_keyed(QueueId workflow) {
        take(session_.query(
            sql::list_keyed_runs,
            workflow,
            status_,
            filter_.created_from,
            filter_.created_before,
            filter_.idempotency_key,
            before_
        ));
    }

    void list_tagged() {
        take(session_.query(
            sql::list_tagged_runs,
            filter_.tag,
            workflow_,
            status_,
            filter_.created_from,
            filter_.created_before,
            filter_.idempotency_key,
            filter_.include_deleted,
            before_,
            limit_
        ));
    }

    void list_any() {
        take(session_.query(
            sql::list_runs,
            status_,
            filter_.created_from,
            filter_.created_before,
            filter_.idempotency_key,
            filter_.include_deleted,
            before_,
            limit_
        ));
    }

    void take(Rows&& rows) {
        while (rows.next()) found_.push_back({rows.id<RunId>(0), to_run_status(rows.text(1))});
    }

    QueueId find_workflow(const std::string& name) {
        Rows rows = session_.query(sql::workflow_id, std::string_view(name));
        return rows.next() ? rows.id<QueueId>(0) : QueueId();
    }

    std::vector<QueueId> workflows() {
        std::vector<QueueId> ids;
        Rows rows = session_.query(sql::workflow_ids);
        while (rows.next()) ids.push_back(rows.id<QueueId>(0));
        return ids;
    }

    Session& session_;
    const RunFilter& filter_;
    const std::int64_t before_;
    const int limit_;
    std::optional<std::string_view> status_;
    QueueId workflow_;
    std::vector<ListedRun> found_;
};

}  // namespace

std::vector<ListedRun> list_runs(Session& session, const RunFilter& filter, const RunPage& page) {
    return Lister(session, filter, page).list();
}

}  // namespace pawl::sqlite
