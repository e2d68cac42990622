// Information about a store, and operations on single workers.
#include "support/workflow_test.h"

namespace pawl::test {
namespace {

class StoreInfoTest : public WorkflowTest {
protected:
    [[nodiscard]] WorkerId add_worker(const std::vector<std::string>& handlers = {}) const {
        return detail::Access::backend(store())->register_worker(
            {"w", "host", 0, 1, 30s, handlers, handlers}
        );
    }
    [[nodiscard]] std::vector<MessageId> held(WorkerId worker, const PageRequest& page = {}) const {
        std::vector<MessageId> found;
        for (const Message& message : store().held_messages(worker, page)) {
            EXPECT_EQ(message.worker, worker);
            EXPECT_EQ(message.state, MessageState::leased);
            found.push_back(message.id);
        }
        return found;
    }
};
PAWL_FOR_EACH_BACKEND(StoreInfoTest);

TEST_P(StoreInfoTest, a_store_returns_its_options) {
    ConnectOptions options = this->options();
    options.lease = 77s;
    const StoreInfo info = connect(place().url(), options).info();
    EXPECT_EQ(info.backend, traits().name);
    EXPECT_EQ(info.options.lease, Duration(77s));
    EXPECT_EQ(info.schema, kit().own_tenant());
    EXPECT_EQ(connect(info.url, this->options()).info().schema, info.schema)
        << "without a password in it, the URL opens the same store: " << info.url;
    const StoreInfo tenant = store().tenant("tenant_a").info();
    EXPECT_EQ(tenant.schema, "tenant_a");
    EXPECT_EQ(connect(tenant.url, this->options()).info().schema, "tenant_a") << tenant.url;
}

TEST_P(StoreInfoTest, only_a_stopped_or_lost_worker_can_be_deleted) {
    freeze();
    const WorkerId live = add_worker();
    const Error refused = error_of([&] { store().delete_worker(live); });
    EXPECT_EQ(refused.code(), ErrorCode::invalid_transition);
    EXPECT_TRUE(contains(refused.what(), "only a stopped or lost worker can be deleted"));
    advance(31s);
    store().delete_worker(live);
    EXPECT_EQ(error_of([&] { store().delete_worker(live); }).code(), ErrorCode::worker_not_found);
    const WorkerId other = add_worker();
    const WorkerId stopped = add_worker();
    store().transition_worker(stopped, WorkerEvent::stop);
    store().delete_worker(stopped);
    ASSERT_EQ(store().workers().size(), 1U);
    EXPECT_EQ(store().workers().front().id, other);
}

TEST_P(StoreInfoTest, the_messages_of_a_worker_are_listed) {
    freeze();
    make_workflow();
    make_workflow("other");
    make_queue("idle");
    enqueue_many(store().queue("idle"), 2);
    const WorkerId worker = add_worker();
    const WorkerId second = add_worker();
    const RunId first = trigger();
    (void)trigger_many(3, "other");
    (void)claim_one("job", worker);
    const auto more = claim(2, "other", worker).messages;
    const auto last = claim(1, "other", second).messages;
    ASSERT_EQ(more.size(), 2U);
    ASSERT_EQ(last.size(), 1U);
    const MessageId run(first.value());
    EXPECT_EQ(held(worker), (std::vector{run, more[0].id, more[1].id}));
    EXPECT_EQ(held(worker, {.after = run, .limit = 1}), std::vector{more[0].id});
    EXPECT_EQ(held(second), std::vector{last[0].id});
    EXPECT_EQ(store().held_messages(worker).front().queue, "job");
    EXPECT_TRUE(held(WorkerId(4711)).empty());
    advance(1h);
    EXPECT_TRUE(held(worker).empty()) << "the leases have ended";
}

TEST_P(StoreInfoTest, queues_show_how_many_workers_they_have) {
    freeze();
    make_queue("a");
    make_queue("b");
    (void)add_worker({"a"});
    (void)add_worker({"a", "b"});
    store().transition_worker(add_worker({"a", "b"}), WorkerEvent::stop);
    EXPECT_EQ(store().queue("a").stats().workers, 2);
    EXPECT_EQ(store().queue("b").stats().workers, 1);
    EXPECT_EQ(store().queue_stats().front().workers, 2);
    advance(31s);
    EXPECT_EQ(store().queue("a").stats().workers, 0) << "they are lost";
    const StoreStats stats = store().stats();
    EXPECT_EQ(stats.workers_live, 0);
    EXPECT_EQ(stats.workers_lost, 2);
    EXPECT_EQ(stats.workers_stopped, 1);
}

}  // namespace
}  // namespace pawl::test
