#include <fmt/format.h>
#include <vector>

#include "bare_statements.h"
#include "postgres/driver/binary_format.h"
#include "postgres_bare_flows.h"

namespace bench {

namespace {

using pawl::postgres::Params;

constexpr const char* poll_sql = R"(
    select msg_id, delivery, run_id, step_slug, task_index, input
    from {0}.poll_for_tasks($1::text, 60, $2::int))";

// The items that were not done, with their index.
constexpr const char* complete_sql = R"(
    select u.place::int - 1, u.outcome
    from {0}.complete_tasks($1::bigint[], $2::int[], $3::bigint[], $4::text[], $5::int[], $6::text[]) c
    cross join lateral unnest(c.outcomes) with ordinality as u (outcome, place)
    where u.outcome <> 'done')";

class PostgresSqlWorker final : public TaskTaker {
public:
    PostgresSqlWorker(const std::string& url, const std::string& schema) : statements_(url) {
        statements_.prepare("poll", fmt::format(fmt::runtime(poll_sql), schema));
        statements_.prepare("complete", fmt::format(fmt::runtime(complete_sql), schema));
    }

    int work(int count) override {
        const auto polled = statements_.execute("poll", Params().text(diamond_name).int4(count));
        const int rows = PQntuples(polled.get());
        Tasks tasks;
        for (int row = 0; row < rows; ++row) {
            const auto field = [&](int column) { return PQgetvalue(polled.get(), row, column); };
            tasks.messages.push_back(pawl::postgres::read_int64(field(0)));
            tasks.deliveries.push_back(pawl::postgres::read_int32(field(1)));
            tasks.runs.push_back(pawl::postgres::read_int64(field(2)));
            tasks.slugs.emplace_back(field(3));
            tasks.indexes.push_back(pawl::postgres::read_int32(field(4)));
        }
        while (!tasks.messages.empty()) tasks = complete(tasks);
        return rows;
    }
    double round_trips() const override { return statements_.round_trips(); }

private:
    struct Tasks {
        std::vector<std::int64_t> messages;
        std::vector<int> deliveries;
        std::vector<std::int64_t> runs;
        std::vector<std::string> slugs;
        std::vector<int> indexes;
    };

    // Returns the tasks to report again: the row of their run was locked.
    Tasks complete(const Tasks& tasks) {
        const std::vector<std::string_view> outputs(tasks.messages.size(), small_output);
        Params params;
        params.int8_array(tasks.messages).int4_array(tasks.deliveries).int8_array(tasks.runs);
        params.text_array(tasks.slugs).int4_array(tasks.indexes).text_array(outputs);
        const auto rest = statements_.execute("complete", params);
        Tasks again;
        for (int row = 0; row < PQntuples(rest.get()); ++row) {
            const std::string_view outcome = PQgetvalue(rest.get(), row, 1);
            if (outcome != "busy")
                throw std::runtime_error("a task ended as " + std::string(outcome));
            const auto place =
                static_cast<std::size_t>(pawl::postgres::read_int32(PQgetvalue(rest.get(), row, 0))
                );
            again.messages.push_back(tasks.messages[place]);
            again.deliveries.push_back(tasks.deliveries[place]);
            again.runs.push_back(tasks.runs[place]);
            again.slugs.push_back(tasks.slugs[place]);
            again.indexes.push_back(tasks.indexes[place]);
        }
        return again;
    }

    BareStatements statements_;
};

}  // namespace

std::unique_ptr<TaskTaker> postgres_sql_worker(const std::string& url, const std::string& schema) {
    return std::make_unique<PostgresSqlWorker>(url, schema);
}

}  // namespace bench
