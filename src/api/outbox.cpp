#include <pawl/outbox.h>
#include <pawl/store.h>

#include "engine/reconnect.h"
#include "model/check_outbox.h"
#include "runtime/services/outbox_dispatcher.h"
#include "seam/backend.h"
#include "seam/outbox_record.h"

namespace pawl {

using engine::retrying;

std::string Store::publish(const NewOutboxEvent& event) const {
    const auto record = seam::new_outbox_record(event, backend_->options().max_payload_bytes);
    retrying(*backend_, [&] { return backend_->publish(std::span(&record, 1)); });
    return record.event_id;
}

std::string Store::publish_in(Transaction transaction, const NewOutboxEvent& event) const {
    const auto record = seam::new_outbox_record(event, backend_->options().max_payload_bytes);
    backend_->publish_in(transaction, std::span(&record, 1));
    return record.event_id;
}

std::vector<OutboxEvent> Store::outbox(const OutboxFilter& filter) const {
    model::check_outbox_filter(filter);
    return retrying(*backend_, [&] { return backend_->list_outbox(filter); });
}

std::int64_t Store::retry_parked(std::int64_t id) const {
    return retrying(*backend_, [&] { return backend_->retry_parked(id); });
}

Dispatcher dispatcher(const Store& store, Sink sink, DispatcherOptions options) {
    return Dispatcher(
        std::make_shared<runtime::OutboxDispatcher>(store.backend(), std::move(sink), options)
    );
}

Dispatcher::Dispatcher(std::shared_ptr<runtime::OutboxDispatcher> implementation)
    : implementation_(std::move(implementation)) {}

void Dispatcher::start() {
    implementation_->start();
}
int Dispatcher::dispatch_once() {
    return implementation_->dispatch_once();
}
void Dispatcher::stop() {
    implementation_->stop();
}

}  // namespace pawl
