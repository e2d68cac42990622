// The dispatcher that crashes in crash tests:
//
//   pawl_outbox_crash_worker once URL LEDGER LEASE_MS FAIL_POINT
//       dispatches due events; exits with 86 at the storage call with that number (0: never).
//   pawl_outbox_crash_worker hang URL LEDGER LEASE_MS
//       the same, but after sending its first event it prints "sent" and never reports it.
//   pawl_outbox_crash_worker run URL LEDGER LEASE_MS
//       prints "running" and dispatches until it is killed.
//
// The sink appends "EVENT_ID TYPE" to the ledger.
#include <atomic>
#include <cstdlib>
#include <fcntl.h>
#include <iostream>
#include <pawl/pawl.h>
#include <string>
#include <unistd.h>
#include <vector>

#include "base/crash_point.h"
#include "crashed.h"

namespace {

using pawl::test::crashed;
std::atomic<int> calls_left = 0;

void count_storage_call() {
    if (--calls_left == 0) _exit(crashed);
}

void say(const std::string& line) {
    std::cout << line << std::endl;
}

[[noreturn]] void wait_for_death() {
    while (true) pause();
}

pawl::Sink ledger_sink(const std::string& file, const std::string& mode) {
    const int ledger = open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (ledger < 0) std::abort();
    return [ledger, mode](const pawl::OutboxEvent& event) -> pawl::SinkResult {
        const std::string line = event.event_id + " " + event.type + "\n";
        if (write(ledger, line.data(), line.size()) < 0) std::abort();
        if (mode == "hang") {
            say("sent");
            wait_for_death();
        }
        return {};
    };
}

void work(const std::vector<std::string>& arguments) {
    const std::string& mode = arguments.at(0);
    pawl::ConnectOptions options;
    options.accept_test_clock = true;
    options.log = nullptr;
    const pawl::Store store = pawl::connect(arguments.at(1), options);
    pawl::DispatcherOptions settings;
    settings.lease = pawl::Duration(std::stol(arguments.at(3)));
    settings.concurrency = 2;
    settings.poll_interval = std::chrono::hours(1);  // only wake-ups must be enough
    auto dispatcher = pawl::dispatcher(store, ledger_sink(arguments.at(2), mode), settings);
    if (mode == "run") {
        dispatcher.start();
        say("running");
        wait_for_death();
    }
    if (mode == "once" && arguments.at(4) != "0") {
        calls_left = std::stoi(arguments.at(4));
        pawl::base::crash_hook = count_storage_call;
    }
    dispatcher.dispatch_once();
    pawl::base::crash_hook = nullptr;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        work(std::vector<std::string>(argv + 1, argv + argc));
        return 0;
    } catch (const std::exception& error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
}
