// The process that crashes in crash tests:
//
//   pawl_crash_worker fixed URL WORKFLOW LEDGER LEASE_MS FAIL_POINT
//       triggers one run of the fixed workflow (with an idempotency key) and works until it has
//       ended; exits with 86 at the storage call with the number FAIL_POINT (0: never).
//   pawl_crash_worker answered URL WORKFLOW LEDGER LEASE_MS FAIL_POINT
//       the same with a workflow that gets an answer that it cannot decode, and then a valid one;
//       only storage calls of the worker count.
//   pawl_crash_worker work URL WORKFLOW LEDGER LEASE_MS CONCURRENCY
//       works until SIGTERM. The input selects the behaviour of a run: "good"; "abort"; "segfault"
//       in step two; "hang" prints "hanging" in step three of its first delivery and never returns;
//       "stopped" prints "waiting" in step two of its first delivery, and "told" when it is
//       notified that the lease is lost.
//   pawl_crash_worker schedule URL WORKFLOW LEDGER LEASE_MS FAIL_POINT
//       polls once, which fires due schedules; exits with 86 at that storage call.
//   pawl_crash_worker schedules URL WORKFLOW LEDGER LEASE_MS CONCURRENCY
//       fires schedules until SIGTERM, concurrently with other workers.
//
// Every body writes "RUN DELIVERY STEP begin" and "... end" to the ledger.
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <iostream>
#include <mutex>
#include <pawl/json.h>
#include <pawl/pawl.h>
#include <string>
#include <unistd.h>
#include <vector>

#include "base/crash_point.h"
#include "crashed.h"

namespace {

using namespace std::chrono_literals;

using pawl::test::crashed;
std::atomic<int> calls_left = 0;

thread_local bool is_exempt = false;

void count_storage_call() {
    if (!is_exempt && --calls_left == 0) _exit(crashed);
}

void say(const std::string& line) {
    std::cout << line << std::endl;
}

// O_APPEND: lines of several processes do not mix.
class Ledger {
public:
    explicit Ledger(const std::string& file)
        : file_(open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600)) {
        if (file_ < 0) std::abort();
    }
    ~Ledger() { close(file_); }
    Ledger(const Ledger&) = delete;
    Ledger& operator=(const Ledger&) = delete;
    void note(const pawl::Context& ctx, const std::string& step, const char* what) const {
        const std::string line = std::to_string(ctx.run_id().value()) + " " +
                                 std::to_string(ctx.delivery()) + " " + step + " " + what + "\n";
        if (write(file_, line.data(), line.size()) < 0) std::abort();
    }

private:
    int file_;
};

// A body between its two lines.
template <class F>
auto noted(const Ledger& ledger, pawl::Context& ctx, const std::string& step, F body) {
    return ctx.step(step, [&] {
        ledger.note(ctx, step, "begin");
        auto result = body();
        ledger.note(ctx, step, "end");
        return result;
    });
}

int fixed_workflow(const Ledger& ledger, pawl::Context& ctx, int n) {
    const int first = noted(ledger, ctx, "first", [&] { return n + 1; });
    const int second = noted(ledger, ctx, "second", [&] {
        if (ctx.attempt() == 1) throw pawl::TransientError("not the first time", 1ms);
        return first * 2;
    });
    ctx.sleep(1ms);
    return noted(ledger, ctx, "third", [&] { return second + 1; });
}

void fixed(
    const std::string& url,
    const std::string& workflow,
    const Ledger& ledger,
    pawl::Duration lease,
    int fail_point
) {
    if (fail_point > 0) {
        calls_left = fail_point;
        pawl::base::crash_hook = count_storage_call;
    }
    pawl::ConnectOptions options;
    options.log = nullptr;
    const pawl::Store store = pawl::connect(url, options);
    const pawl::Run run =
        pawl::workflow(workflow).trigger(20).idempotency_key("the one").execute(store);
    auto worker =
        pawl::worker("crash")
            .handle(
                workflow, [&](pawl::Context& ctx, int n) { return fixed_workflow(ledger, ctx, n); }
            )
            .concurrency(1)
            .lease(lease)
            .create(store);
    worker.start();
    (void)run.wait_json(40s);
    pawl::base::crash_hook = nullptr;
}

int answered_workflow(const Ledger& ledger, pawl::Context& ctx) {
    const int answer = ctx.pause<int>("ask", "how many?", 50ms);
    return noted(ledger, ctx, "after", [&] { return answer * 2; });
}

void give_answer(const pawl::Store& store, const pawl::Run& run) {
    bool rejected = false;
    for (const pawl::RunEvent& event : store.run(run.id()).events())
        rejected = rejected || event.kind == "resume_rejected";
    try {
        if (rejected) {
            store.resume(run.id(), "ask", 21);
        } else {
            store.resume(run.id(), "ask", std::string("many"), {.early = true});
        }
    } catch (const pawl::Error&) {
        // An answer was given, maybe by a process that crashed, or the run has ended.
    }
}

void answered(
    const std::string& url,
    const std::string& workflow,
    const Ledger& ledger,
    pawl::Duration lease,
    int fail_point
) {
    is_exempt = true;
    pawl::ConnectOptions options;
    options.log = nullptr;
    const pawl::Store store = pawl::connect(url, options);
    const pawl::Run run =
        pawl::workflow(workflow).trigger().idempotency_key("the one").execute(store);
    give_answer(store, run);
    if (fail_point > 0) {
        calls_left = fail_point;
        pawl::base::crash_hook = count_storage_call;
    }
    auto worker =
        pawl::worker("crash")
            .handle(workflow, [&](pawl::Context& ctx) { return answered_workflow(ledger, ctx); })
            .concurrency(1)
            .lease(lease)
            .housekeeping(false)
            .create(store);
    worker.start();
    while (!pawl::is_finished(run.status())) {
        give_answer(store, run);
        usleep(5'000);
    }
    pawl::base::crash_hook = nullptr;
}

int several(const Ledger& ledger, pawl::Context& ctx, const std::string& mode) {
    if (mode == "abort") std::abort();
    const bool first_time = ctx.delivery() == 1;
    noted(ledger, ctx, "one", [] { return 1; });
    noted(ledger, ctx, "two", [&] {
        if (mode == "segfault") {
            int* volatile nothing = nullptr;
            *nothing = 1;
        }
        if (mode == "stopped" && first_time) {
            say("waiting");
            std::mutex mutex;
            std::condition_variable_any never;
            std::unique_lock lock(mutex);
            never.wait(lock, ctx.stop_token(), [] { return false; });
            say(ctx.cancelled() ? "told" : "told something else");
        }
        return ctx.delivery();
    });
    return noted(ledger, ctx, "three", [&] {
        if (mode == "hang" && first_time) {
            say("hanging");
            while (true) pause();
        }
        return 3;
    });
}

void work(
    const std::string& url,
    const std::string& workflow,
    const Ledger& ledger,
    pawl::Duration lease,
    int concurrency
) {
    const pawl::Store store = pawl::connect(url);
    auto worker = pawl::worker("several")
                      .handle(
                          workflow,
                          [&](pawl::Context& ctx, const std::string& mode) {
                              return several(ledger, ctx, mode);
                          }
                      )
                      .concurrency(concurrency)
                      .lease(lease)
                      .create(store);
    worker.handle_signals();
    say("working");
    worker.poll_forever();
}

pawl::Worker schedule_worker(const pawl::Store& store, const std::string& workflow, int threads) {
    return pawl::worker("scheduler")
        .handle(workflow, [](pawl::Context&) { return 1; })
        .concurrency(threads)
        .create(store);
}

pawl::Store connect_with_test_clock(const std::string& url) {
    pawl::ConnectOptions options;
    options.accept_test_clock = true;
    return pawl::connect(url, options);
}

void schedule(const std::string& url, const std::string& workflow, int fail_point) {
    const pawl::Store store = connect_with_test_clock(url);
    auto worker = schedule_worker(store, workflow, 1);
    calls_left = fail_point;
    pawl::base::crash_hook = count_storage_call;
    worker.poll_once();
    pawl::base::crash_hook = nullptr;
}

void schedules(const std::string& url, const std::string& workflow, int threads) {
    const pawl::Store store = connect_with_test_clock(url);
    auto worker = schedule_worker(store, workflow, threads);
    worker.handle_signals();
    say("working");
    worker.poll_forever();
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const std::vector<std::string> arguments(argv + 1, argv + argc);
        const Ledger ledger(arguments.at(3));
        const pawl::Duration lease(std::stol(arguments.at(4)));
        const int number = std::stoi(arguments.at(5));
        if (arguments.at(0) == "fixed") {
            fixed(arguments.at(1), arguments.at(2), ledger, lease, number);
        } else if (arguments.at(0) == "answered") {
            answered(arguments.at(1), arguments.at(2), ledger, lease, number);
        } else if (arguments.at(0) == "schedule") {
            schedule(arguments.at(1), arguments.at(2), number);
        } else if (arguments.at(0) == "schedules") {
            schedules(arguments.at(1), arguments.at(2), number);
        } else {
            work(arguments.at(1), arguments.at(2), ledger, lease, number);
        }
        return 0;
    } catch (const std::exception& error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
}
