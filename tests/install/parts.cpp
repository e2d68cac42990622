// A program that uses the components that have their own dependencies.
#include <iostream>
#include <pawl/pawl.h>

int main() {
    const pawl::Store store = pawl::connect("sqlite::memory:");
    store.install();
    store.create_queue("mail");
    const pawl::Sink sink = pawl::http_sink("http://127.0.0.1:1/events");
    auto worker =
        pawl::worker("w").on_message("mail", [](const pawl::Message&) {}).metrics(0).create(store);
    std::cout << "metrics at port " << worker.metrics_port() << '\n';
    return sink != nullptr && worker.metrics_port() > 0 ? 0 : 1;
}
