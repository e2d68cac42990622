// The outbox: events that commit together with the changes they describe, delivered in order per
// aggregate and retried until the receiver accepts them. Here the receiver is a function; see
// pawl::http_sink and pawl::file_sink for others.
#include <cstdio>
#include <pawl/json.h>
#include <pawl/pawl.h>

using nlohmann::json;

void pay(pawl::Context& ctx, const std::string& invoice) {
    ctx.publish("invoice.received", json{{"invoice", invoice}}, invoice);
    ctx.step("charge", [&] {
        if (ctx.attempt() == 1) throw pawl::TransientError("the bank is busy", pawl::Duration(1));
    });
    ctx.publish("invoice.paid", json{{"invoice", invoice}}, invoice);
}

int main() {
    pawl::Store store = pawl::connect("sqlite::memory:");
    store.install();
    store.create_workflow("pay", {.publish = pawl::PublishLevel::ends});
    pawl::Worker worker = pawl::worker("worker-1").handle("pay", pay).create(store);
    worker.start();
    const pawl::Run run = pawl::workflow("pay").trigger(std::string("invoice-42")).execute(store);
    run.wait(std::chrono::seconds(30));
    worker.stop();
    std::printf("the run's function was called twice, its events are there once:\n");
    for (const pawl::OutboxEvent& event : store.outbox()) std::printf("  %s\n", event.type.c_str());

    // The receiver is unavailable when the first event of the invoice arrives: the second one waits
    // for it, the event of the run does not.
    bool unavailable = true;
    const auto receive = [&](const pawl::OutboxEvent& event) -> pawl::SinkResult {
        if (unavailable && event.aggregate == "invoice-42")
            return {pawl::SinkResult::Kind::retry, "receiver unavailable", pawl::Duration(0)};
        std::printf("received: %s\n", event.type.c_str());
        return {};
    };
    pawl::DispatcherOptions options;
    options.max_attempts = 2;
    pawl::Dispatcher dispatcher = pawl::dispatcher(store, receive, options);
    std::printf("delivered: %d\n", dispatcher.dispatch_once());
    for (const pawl::OutboxEvent& event : store.outbox({.status = pawl::OutboxStatus::parked}))
        std::printf("parked: %s, %s\n", event.type.c_str(), event.last_error.c_str());

    unavailable = false;
    std::printf("tried again: %d\n", static_cast<int>(store.retry_parked()));
    std::printf("delivered: %d\n", dispatcher.dispatch_once());
}
