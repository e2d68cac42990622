#include "support/store_test.h"

#include <sstream>

#ifdef PAWL_WITH_SQLITE
#include "engine/access.h"
#include "support/deferring_store.h"
#endif

namespace pawl::test {

LogHook LogLines::hook() const {
    return [state = state_](LogLevel level, std::string_view message) {
        const std::lock_guard lock(state->mutex);
        state->text.append(to_string(level)).append(": ").append(message).append("\n");
    };
}

std::string LogLines::text() const {
    const std::lock_guard lock(state_->mutex);
    return state_->text;
}

void StoreTest::SetUp() {
    place_ = Place::prepared(GetParam());
    kit_ = make_kit(*place_);
    store_ = open();
    if (!place().is_installed()) store_->install();
}

void StoreTest::TearDown() {
    store_.reset();
    if (HasFailure()) std::cout << "the library's log:\n" << log_.text();
    kit_.reset();
    place_.reset();
}

Store StoreTest::open() const {
#ifdef PAWL_WITH_SQLITE
    if (place().kind() == BackendKind::deferring)
        return detail::Access::store(
            open_deferring({.path = place().directory().file("store.db")}, options())
        );
#endif
    return connect(place().url(), options());
}

ConnectOptions StoreTest::options() const {
    ConnectOptions options;
    options.accept_test_clock = true;
    options.log = log_.hook();
    return options;
}

void StoreTest::freeze() const {
    testing::set_clock(store(), start);
}

Queue StoreTest::make_queue(const std::string& name, const QueueOptions& options) const {
    return store().create_queue(name, options);
}

std::vector<MessageId> StoreTest::enqueue_many(const Queue& queue, int count) {
    std::vector<NewMessage> messages;
    for (int i = 0; i < count; ++i) messages.push_back({Json{std::to_string(i)}, {}});
    return queue.enqueue(messages);
}

std::vector<Message> StoreTest::take(const Queue& queue, int count) {
    return queue.dequeue({.max_messages = count, .lease = {}, .wait = {}});
}

Message StoreTest::take_one(const Queue& queue) {
    auto messages = take(queue);
    if (messages.size() == 1) return messages.front();
    throw std::runtime_error("expected a message in queue " + queue.name());
}

std::vector<Lease> StoreTest::leases(const std::vector<Message>& messages) {
    std::vector<Lease> result;
    for (const Message& message : messages) result.push_back(message.lease());
    return result;
}

std::vector<MessageId> StoreTest::ids(const std::vector<Message>& messages) {
    std::vector<MessageId> result;
    for (const Message& message : messages) result.push_back(message.id);
    return result;
}

std::string backend_name(const ::testing::TestParamInfo<BackendKind>& info) {
    std::ostringstream name;
    name << info.param;
    return name.str();
}

}  // namespace pawl::test
