#include <algorithm>
#include <map>
#include <unistd.h>

#include "model/enum_names.h"
#include "model/worker_state.h"
#include "seam/backend.h"
#include "support/store_test.h"

namespace pawl::test {
namespace {

class WorkersTest : public StoreTest {
protected:
    Worker make_worker(const std::string& name = "w") const {
        make_queue();
        return worker(name).on_message("work", [](const Message&) {}).create(store());
    }
    // A row without a process.
    WorkerId register_row(Duration lease = 30s) const {
        return detail::Access::backend(store())->register_worker(
            {"row", "host", 0, 1, lease, {"work"}, {"work"}}
        );
    }
    void set_status(WorkerId id, WorkerStatus status) const {
        database()->run(
            "update " + place().table("workers") + " set status = '" +
            std::string(to_string(status)) + "' where worker_id = " + std::to_string(id.value())
        );
    }
};
PAWL_FOR_EACH_BACKEND(WorkersTest);

TEST_P(WorkersTest, creating_a_worker_registers_it) {
    make_queue("mail");
    make_queue("work");
    const auto handler = [](const Message&) {};
    const Worker made = worker("ada")
                            .on_message("work", handler)
                            .on_message("mail", handler)
                            .port(8080)
                            .lease(12s)
                            .create(store());
    const WorkerInfo info = open().worker_info(made.id());
    EXPECT_EQ(info.name, "ada");
    EXPECT_FALSE(info.host.empty());
    EXPECT_EQ(info.port, 8080);
    EXPECT_EQ(info.pid, getpid());
    EXPECT_EQ(info.status, WorkerStatus::ready);
    EXPECT_FALSE(info.lost);
    EXPECT_EQ(info.lease, Duration(12s));
    EXPECT_EQ(info.subscriptions, (std::vector<std::string>{"work", "mail"}));
    EXPECT_EQ(info.handlers, (std::vector<std::string>{"work", "mail"}));
    EXPECT_LE(info.started_at, info.heartbeat_at);
}

TEST_P(WorkersTest, a_name_is_a_label_and_the_id_is_the_identity) {
    const Worker first = make_worker("same");
    const Worker second = make_worker("same");
    EXPECT_NE(first.id(), second.id());
    EXPECT_EQ(store().workers().size(), 2U);
}

TEST_P(WorkersTest, a_worker_goes_through_its_states_in_the_store) {
    Worker made = make_worker();
    const auto stored = [&] { return open().worker_info(made.id()).status; };
    made.start();
    EXPECT_EQ(stored(), WorkerStatus::polling);
    made.suspend();
    EXPECT_EQ(stored(), WorkerStatus::suspended);
    made.resume();
    EXPECT_EQ(stored(), WorkerStatus::polling);
    made.interrupt();
    EXPECT_EQ(stored(), WorkerStatus::interrupted);
    made.stop();
    EXPECT_EQ(stored(), WorkerStatus::stopped);
    EXPECT_EQ(made.status(), WorkerStatus::stopped);
    EXPECT_EQ(error_of([&] { made.start(); }).code(), ErrorCode::invalid_transition);
}

// As in docs/glossary.md; every other transition is refused.
const std::map<std::pair<WorkerStatus, WorkerEvent>, WorkerStatus> documented_transitions{
    {{WorkerStatus::ready, WorkerEvent::start_polling}, WorkerStatus::polling},
    {{WorkerStatus::ready, WorkerEvent::suspend}, WorkerStatus::suspended},
    {{WorkerStatus::ready, WorkerEvent::stop}, WorkerStatus::stopped},
    {{WorkerStatus::polling, WorkerEvent::start_polling}, WorkerStatus::polling},
    {{WorkerStatus::polling, WorkerEvent::poll_done}, WorkerStatus::ready},
    {{WorkerStatus::polling, WorkerEvent::interrupt}, WorkerStatus::interrupted},
    {{WorkerStatus::polling, WorkerEvent::suspend}, WorkerStatus::suspended},
    {{WorkerStatus::polling, WorkerEvent::stop}, WorkerStatus::stopped},
    {{WorkerStatus::interrupted, WorkerEvent::suspend}, WorkerStatus::suspended},
    {{WorkerStatus::interrupted, WorkerEvent::stop}, WorkerStatus::stopped},
    {{WorkerStatus::suspended, WorkerEvent::resume}, WorkerStatus::ready},
    {{WorkerStatus::suspended, WorkerEvent::stop}, WorkerStatus::stopped},
};

TEST_P(WorkersTest, exactly_the_transitions_of_the_table_are_possible) {
    const WorkerId id = register_row();
    for (const auto& [from, from_name] : model::worker_statuses) {
        for (const auto& [event, event_name] : model::worker_events) {
            set_status(id, from);
            const auto expected = documented_transitions.find({from, event});
            if (expected != documented_transitions.end()) {
                store().transition_worker(id, event);
                EXPECT_EQ(store().worker_info(id).status, expected->second)
                    << from_name << " " << event_name;
            } else {
                // Copied in the capture: clang 14 does not capture the name of a structured
                // binding.
                const Error error =
                    error_of([&, event = event] { store().transition_worker(id, event); });
                EXPECT_EQ(error.code(), ErrorCode::invalid_transition)
                    << from_name << " " << event_name;
                EXPECT_TRUE(contains(error.what(), std::string(from_name)));
                EXPECT_EQ(store().worker_info(id).status, from);
            }
        }
    }
}

TEST_P(WorkersTest, the_table_in_sql_is_the_documented_one) {
    std::vector<Row> expected;
    for (const auto& [key, to] : documented_transitions) {
        const auto& [from, event] = key;
        expected.push_back(
            {std::string(to_string(from)),
             std::string(to_string(event)),
             std::string(to_string(to))}
        );
    }
    auto stored = database()->rows(
        "select from_status, event, to_status from " + place().table("worker_transitions")
    );
    std::ranges::sort(expected);
    std::ranges::sort(stored);
    EXPECT_EQ(stored, expected);
}

TEST_P(WorkersTest, a_heartbeat_is_accepted_in_every_state) {
    freeze();
    const WorkerId id = register_row();
    for (const auto& [status, name] : model::worker_statuses) {
        set_status(id, status);
        advance(1s);
        EXPECT_EQ(detail::Access::backend(store())->heartbeat(id, {}).status, status);
        EXPECT_EQ(store().worker_info(id).heartbeat_at, store().now());
    }
}

TEST_P(WorkersTest, the_heartbeat_of_a_worker_without_a_row_reports_it) {
    const auto beat = detail::Access::backend(store())->heartbeat(WorkerId(4711), {});
    EXPECT_FALSE(beat.known);
    EXPECT_FALSE(beat.status);
    EXPECT_TRUE(detail::Access::backend(store())->heartbeat(register_row(), {}).known);
}

TEST_P(WorkersTest, a_worker_without_a_heartbeat_for_longer_than_its_lease_is_lost) {
    freeze();
    const WorkerId id = register_row(30s);
    advance(30s);
    EXPECT_FALSE(store().worker_info(id).lost);
    advance(1ms);
    EXPECT_TRUE(store().worker_info(id).lost);
    EXPECT_EQ(store().stats().workers_lost, 1);
    EXPECT_EQ(store().stats().workers_live, 0);
    detail::Access::backend(store())->heartbeat(id, {});
    EXPECT_FALSE(store().worker_info(id).lost);
    EXPECT_EQ(store().stats().workers_live, 1);
    store().transition_worker(id, WorkerEvent::stop);
    advance(1h);
    EXPECT_FALSE(store().worker_info(id).lost) << "a stopped one is not lost";
    EXPECT_EQ(store().stats().workers_stopped, 1);
}

TEST_P(WorkersTest, purge_forgets_stopped_and_lost_workers_that_are_old_enough) {
    freeze();
    const WorkerId stopped = register_row();
    store().transition_worker(stopped, WorkerEvent::stop);
    const WorkerId lost = register_row();
    const WorkerId patient = register_row(24h);
    advance(1h);
    const WorkerId fresh = register_row();
    store().transition_worker(fresh, WorkerEvent::stop);
    EXPECT_EQ(store().purge_workers(2h), 0);
    EXPECT_EQ(store().purge_workers(1h), 2);
    std::vector<WorkerId> left;
    for (const WorkerInfo& info : store().workers()) left.push_back(info.id);
    EXPECT_EQ(left, (std::vector{patient, fresh}));
    EXPECT_EQ(
        error_of([&] { (void)store().worker_info(lost); }).code(), ErrorCode::worker_not_found
    );
}

TEST_P(WorkersTest, an_unknown_worker_is_an_error) {
    EXPECT_EQ(
        error_of([&] { store().transition_worker(WorkerId(9), WorkerEvent::stop); }).code(),
        ErrorCode::worker_not_found
    );
    EXPECT_EQ(
        error_of([&] { (void)store().worker_info(WorkerId(9)); }).code(),
        ErrorCode::worker_not_found
    );
}

TEST_P(WorkersTest, a_worker_that_cannot_work_is_refused_and_leaves_no_row) {
    make_queue();
    const auto handler = [](const Message&) {};
    const auto refused = [&](const WorkerBuilder& builder, ErrorCode code) {
        EXPECT_EQ(error_of([&] { (void)builder.create(store()); }).code(), code);
    };
    refused(worker("").on_message("work", handler), ErrorCode::invalid_argument);
    refused(worker("w"), ErrorCode::invalid_argument);
    refused(worker("w").on_message("work", handler).concurrency(0), ErrorCode::invalid_argument);
    refused(
        worker("w").on_batch("work", 0, [](std::span<const Message>) {}),
        ErrorCode::invalid_argument
    );
    refused(
        worker("w").on_message("work", handler).on_message("work", handler),
        ErrorCode::invalid_argument
    );
    refused(worker("w").on_message("nowhere", handler), ErrorCode::queue_not_found);
    EXPECT_TRUE(store().workers().empty());
}

TEST_P(WorkersTest, a_replaced_clock_is_refused_unless_accepted) {
    freeze();
    make_queue();
    ConnectOptions strict = options();
    strict.accept_test_clock = false;
    const Store other = connect(place().url(), strict);
    const auto builder = worker("w").on_message("work", [](const Message&) {});
    EXPECT_EQ(error_of([&] { (void)builder.create(other); }).code(), ErrorCode::test_clock);
    EXPECT_TRUE(store().workers().empty());
    EXPECT_TRUE(builder.create(store()).id());
}

TEST_P(WorkersTest, a_destroyed_worker_is_stopped_in_the_store) {
    WorkerId id;
    {
        Worker made = make_worker();
        made.start();
        id = made.id();
    }
    EXPECT_EQ(store().worker_info(id).status, WorkerStatus::stopped);
}

TEST_P(WorkersTest, an_event_of_an_operator_is_no_sign_of_life) {
    freeze();
    const WorkerId id = register_row();
    const auto backend = detail::Access::backend(store());
    backend->transition_worker(id, WorkerEvent::start_polling);
    advance(1h);
    ASSERT_TRUE(store().worker_info(id).lost);
    for (const WorkerEvent event : {WorkerEvent::suspend, WorkerEvent::resume}) {
        store().transition_worker(id, event);
        EXPECT_TRUE(store().worker_info(id).lost) << to_string(event);
    }
    backend->transition_worker(id, WorkerEvent::start_polling);
    EXPECT_FALSE(store().worker_info(id).lost) << "sent by the worker itself";
    advance(1h);
    store().transition_worker(id, WorkerEvent::interrupt);
    EXPECT_TRUE(store().worker_info(id).lost);
    store().transition_worker(id, WorkerEvent::stop);
    EXPECT_EQ(store().purge_workers(30s), 1);
}

}  // namespace
}  // namespace pawl::test
