// The process that crashes in crash tests of flows:
//
//   pawl_flow_crash_worker by_hand URL FLOW LEASE_MS FAIL_POINT
//       starts one run (with an idempotency key) and polls and completes its tasks until it has
//       ended; exits with 86 at the storage call with the number FAIL_POINT (0: never).
//   pawl_flow_crash_worker worker URL FLOW LEASE_MS 0
//       a worker until SIGTERM. The first delivery of the second element of "each" prints "hanging"
//       and never returns.
//
// Outputs: each element n -> n * 10; sum -> the sum of these, and fails at its first attempt.
#include <atomic>
#include <iostream>
#include <numeric>
#include <pawl/json.h>
#include <pawl/pawl.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "base/crash_point.h"
#include "crashed.h"

namespace {

using namespace std::chrono_literals;

using pawl::test::crashed;
std::atomic<int> calls_left = 0;

void count_storage_call() {
    if (--calls_left == 0) _exit(crashed);
}

void say(const std::string& line) {
    std::cout << line << std::endl;
}

int sum_of(const nlohmann::json& input) {
    const auto values = input.at("each").get<std::vector<int>>();
    return std::accumulate(values.begin(), values.end(), 0);
}

void work_on(const pawl::Store& store, const pawl::Task& task) {
    if (task.task.step == "sum" && task.attempts == 1) {
        (void)store.fail_task(task.task, "not the first time", task.delivery);
        return;
    }
    const auto input = nlohmann::json::parse(task.input.text);
    const int output = task.task.step == "sum" ? sum_of(input) : input.get<int>() * 10;
    (void)store.complete_task(task.task, pawl::Json{std::to_string(output)}, task.delivery);
}

void by_hand(
    const std::string& url, const std::string& flow, pawl::Duration lease, int fail_point
) {
    if (fail_point > 0) {
        calls_left = fail_point;
        pawl::base::crash_hook = count_storage_call;
    }
    pawl::ConnectOptions options;
    options.log = nullptr;
    const pawl::Store store = pawl::connect(url, options);
    const pawl::Run run =
        pawl::flow(flow).start(std::vector<int>{1, 2, 3}).idempotency_key("the one").execute(store);
    while (!pawl::is_finished(run.status())) {
        const auto tasks = store.poll_for_tasks(flow, 2, lease);
        for (const pawl::Task& task : tasks) work_on(store, task);
        // A crashed process holds the other tasks until its lease ends.
        if (tasks.empty()) std::this_thread::sleep_for(5ms);
    }
    pawl::base::crash_hook = nullptr;
}

void as_worker(const std::string& url, const std::string& flow, pawl::Duration lease) {
    const pawl::Store store = pawl::connect(url);
    pawl::FlowHandlers handlers;
    handlers.on("each", [](pawl::TaskContext& context, int n) {
        if (n == 2 && context.delivery() == 1) {
            say("hanging");
            while (true) pause();
        }
        return n * 10;
    });
    handlers.on("sum", [](pawl::TaskContext&, const nlohmann::json& input) {
        return sum_of(input);
    });
    auto worker =
        pawl::worker("flows").flow(flow, handlers).concurrency(4).lease(lease).create(store);
    worker.handle_signals();
    worker.poll_forever();
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const std::vector<std::string> arguments(argv + 1, argv + argc);
        const pawl::Duration lease(std::stol(arguments.at(3)));
        if (arguments.at(0) == "by_hand") {
            by_hand(arguments.at(1), arguments.at(2), lease, std::stoi(arguments.at(4)));
        } else {
            as_worker(arguments.at(1), arguments.at(2), lease);
        }
        return 0;
    } catch (const std::exception& error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
}
