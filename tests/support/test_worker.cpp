// The other process of multi-process tests:
//
//   pawl_test_worker install URL
//   pawl_test_worker enqueue URL QUEUE COUNT
//       prints "enqueued"
//   pawl_test_worker dequeue URL QUEUE
//       prints "waiting", then the id of the message that it got
//   pawl_test_worker hold URL QUEUE COUNT LEASE_MS
//       prints "held" and keeps its messages until it is killed
//   pawl_test_worker work URL QUEUE THREADS LEDGER LEASE_MS
//       works until SIGTERM; appends "ID DELIVERY" of every message to the ledger. A message
//       "crash" makes it abort, a message "hang" makes it print "hanging ID" and never return.
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <iostream>
#include <pawl/pawl.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "engine/access.h"
#include "seam/backend.h"

namespace {

using namespace std::chrono_literals;

void say(const std::string& line) {
    std::cout << line << std::endl;
}

[[noreturn]] void wait_for_death() {
    while (true) pause();
}

void hold(const pawl::Queue& queue, std::size_t count, pawl::Duration lease) {
    std::size_t held = 0;
    while (held < count) {
        held +=
            queue
                .dequeue(
                    {.max_messages = static_cast<int>(count - held), .lease = lease, .wait = 10s}
                )
                .size();
    }
    say("held");
    wait_for_death();
}

// O_APPEND: lines of several processes do not mix.
void append(int ledger, const pawl::Message& message) {
    const std::string line =
        std::to_string(message.id.value()) + " " + std::to_string(message.delivery) + "\n";
    if (write(ledger, line.data(), line.size()) < 0) std::abort();
}

void work(
    const pawl::Store& store,
    const std::string& queue,
    int threads,
    const std::string& file,
    pawl::Duration lease
) {
    const int ledger = open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    const auto handler = [&](const pawl::Message& message) {
        if (message.payload.text == "\"crash\"") std::abort();
        if (message.payload.text == "\"hang\"") {
            say("hanging " + std::to_string(message.id.value()));
            wait_for_death();
        }
        append(ledger, message);
    };
    auto worker = pawl::worker("helper")
                      .on_message(queue, handler)
                      .concurrency(threads)
                      .lease(lease)
                      .create(store);
    worker.handle_signals();
    say("working");
    worker.poll_forever();
    close(ledger);
}

int run(const std::vector<std::string>& arguments) {
    const std::string& mode = arguments.at(0);
    pawl::ConnectOptions options;
    if (mode == "dequeue") options.poll_interval = 24h;  // only a wake-up ends its wait
    const pawl::Store store = pawl::connect(arguments.at(1), options);
    if (mode == "install") {
        store.install();
        return 0;
    }
    const pawl::Queue queue = store.queue(arguments.at(2));
    if (mode == "enqueue") {
        for (int i = 0; i < std::stoi(arguments.at(3)); ++i)
            queue.enqueue(pawl::Json{std::to_string(i)});
        say("enqueued");
    } else if (mode == "dequeue") {
        std::jthread observer([&] {
            while (pawl::detail::Access::backend(store)->wake_hub().waiters() == 0)
                std::this_thread::yield();
            say("waiting");
        });
        const auto messages = queue.dequeue({.max_messages = 1, .lease = {}, .wait = 1h});
        say(messages.empty() ? "nothing" : std::to_string(messages.front().id.value()));
    } else if (mode == "hold") {
        hold(queue, std::stoul(arguments.at(3)), pawl::Duration(std::stol(arguments.at(4))));
    } else if (mode == "work") {
        work(
            store,
            queue.name(),
            std::stoi(arguments.at(3)),
            arguments.at(4),
            pawl::Duration(std::stol(arguments.at(5)))
        );
    } else {
        return 2;
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(std::vector<std::string>(argv + 1, argv + argc));
    } catch (const std::exception& error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
}
