// A first program of a user.
#include <iostream>
#include <pawl/json.h>
#include <pawl/pawl.h>

int main() {
    const pawl::Store store = pawl::connect("sqlite::memory:");
    store.install();
    const pawl::Queue queue = store.create_queue("mail");
    queue.enqueue(std::string("hello"));
    std::string got;
    auto worker = pawl::worker("w").on_message(
                                       "mail", [&](const std::string& text) { got = text; }
    ).create(store);
    worker.poll_once();
    std::cout << got << " from pawl " << PAWL_VERSION << '\n';
    return got == "hello" && queue.stats().archived == 1 ? 0 : 1;
}
