// A schedule creates runs by itself. Any worker may fire it, and each fire time creates one run.
// Here the test kit sets the clock, so that a night passes immediately.
#include <cstdio>
#include <pawl/json.h>
#include <pawl/pawl.h>
#include <pawl/testing.h>
#include <thread>

using namespace std::chrono_literals;

std::string text(pawl::Timestamp time) {
    const auto day = std::chrono::floor<std::chrono::days>(time);
    const std::chrono::year_month_day date(day);
    const std::chrono::hh_mm_ss clock(std::chrono::floor<std::chrono::minutes>(time - day));
    char buffer[64];
    std::snprintf(
        buffer,
        sizeof buffer,
        "%d-%02u-%02u %02d:%02d UTC",
        static_cast<int>(date.year()),
        static_cast<unsigned>(date.month()),
        static_cast<unsigned>(date.day()),
        static_cast<int>(clock.hours().count()),
        static_cast<int>(clock.minutes().count())
    );
    return buffer;
}

int main() {
    pawl::Store store =
        pawl::connect("sqlite::memory:", {.log = nullptr, .accept_test_clock = true});
    store.install();
    store.create_workflow("report");
    const auto evening = std::chrono::sys_days(std::chrono::year(2026) / 3 / 7) + 20h;
    pawl::testing::set_clock(store, evening);

    // Half past two, in a night in which the clock is set forward from two to three.
    store.create_schedule(
        "nightly",
        "report",
        "30 2 * * *",
        std::string("sales"),
        {.time_zone = "America/New_York", .overlap = pawl::Overlap::skip}
    );
    for (const pawl::Timestamp at : next_fire_times(store.schedule_info("nightly"), evening, 3))
        std::printf("fires at %s\n", text(at).c_str());

    pawl::Worker worker = pawl::worker("worker-1")
                              .handle(
                                  "report",
                                  [](pawl::Context&, const std::string& what) {
                                      std::printf("a report about %s\n", what.c_str());
                                  }
                              )
                              .create(store);
    worker.start();
    pawl::testing::set_clock(store, *store.schedule_info("nightly").next_fire_at);

    pawl::RunId run;
    while (!(run = store.schedule_info("nightly").last_run)) std::this_thread::sleep_for(1ms);
    store.run(run).wait(30s);
    std::printf("%s\n", store.run(run).info().idempotency_key->c_str());
    std::printf("then at %s\n", text(*store.schedule_info("nightly").next_fire_at).c_str());
    worker.stop();

    try {
        store.create_schedule("hasty", "report", "0 25 * * *");
    } catch (const pawl::Error& error) {
        std::printf("%s\n", error.what());
    }
}
