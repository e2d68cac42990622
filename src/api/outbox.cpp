#include <pawl/outbox.h>
#include <pawl/store.h>

#include "engine/access.h"
#include "model/check_outbox.h"
#include "runtime/services/outbox_dispatcher.h"
#include "seam/backend.h"
#include "seam/outbox_record.h"

namespace pawl::inline v0 {

std::string Store::publish(const NewOutboxEvent& event) const {
    const auto record =
        seam::new_outbox_record(event, store_->backend()->options().max_payload_bytes);
    store_->retrying([&](auto& backend) { return backend.publish(std::span(&record, 1)); });
    return record.event_id;
}

std::string Store::publish_in(Transaction transaction, const NewOutboxEvent& event) const {
    const auto record =
        seam::new_outbox_record(event, store_->backend()->options().max_payload_bytes);
    store_->backend()->publish_in(transaction, std::span(&record, 1));
    return record.event_id;
}

std::vector<OutboxEvent> Store::outbox(const OutboxFilter& filter) const {
    model::check_outbox_filter(filter);
    return store_->retrying([&](auto& backend) { return backend.list_outbox(filter); });
}

std::int64_t Store::retry_parked(std::int64_t id) const {
    return store_->retrying([&](auto& backend) { return backend.retry_parked(id); });
}

Dispatcher dispatcher(const Store& store, Sink sink, DispatcherOptions options) {
    return detail::Access::dispatcher(std::make_shared<runtime::OutboxDispatcher>(
        detail::Access::backend(store), std::move(sink), options
    ));
}

Dispatcher::Dispatcher(std::shared_ptr<runtime::OutboxDispatcher> implementation)
    : implementation_(std::move(implementation)) {}
Dispatcher::Dispatcher(Dispatcher&&) noexcept = default;
Dispatcher& Dispatcher::operator=(Dispatcher&&) noexcept = default;
Dispatcher::~Dispatcher() = default;

void Dispatcher::start() {
    implementation_->start();
}
int Dispatcher::dispatch_once() {
    return implementation_->dispatch_once();
}
void Dispatcher::stop() {
    implementation_->stop();
}

}  // namespace pawl::inline v0
