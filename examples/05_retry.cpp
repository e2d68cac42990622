// Errors in steps: a transient error is retried after a backoff, a permanent one fails the step,
// and the function may catch it and continue differently.
#include <cstdio>
#include <pawl/json.h>
#include <pawl/pawl.h>

std::string buy_ticket(pawl::Context& ctx, const std::string& card) {
    const auto seat = ctx.step("reserve", [&] {
        std::printf("reserve, attempt %d\n", ctx.attempt());
        if (ctx.attempt() < 3) throw pawl::TransientError("the booking service is busy");
        return "12A";
    });
    try {
        ctx.step("charge", [&] {
            if (card != "good") throw pawl::PermanentError("the card was declined");
        });
    } catch (const pawl::StepError& error) {  // the same on every replay
        ctx.step("release_seat", [&] {
            std::printf("seat %s is free again: %s\n", seat.c_str(), error.what());
        });
        throw;  // the run fails too
    }
    return "seat " + seat;
}

int main() {
    pawl::Store store = pawl::connect("sqlite::memory:");
    store.install();
    store.create_workflow(
        "buy_ticket",
        {.max_attempts = 3,  // executions of a step, including the first; this is the default
         .backoff_base = pawl::Duration(10)}  // 10 ms, 20 ms, ... plus up to half of it
    );
    pawl::Worker worker = pawl::worker("worker-1").handle("buy_ticket", buy_ticket).create(store);
    worker.start();

    for (const std::string card : {"good", "bad"}) {
        const pawl::Run run = pawl::workflow("buy_ticket").trigger(card).execute(store);
        try {
            std::printf("-> %s\n", run.wait<std::string>(std::chrono::seconds(30)).c_str());
        } catch (const pawl::ExecutionFailed& failed) {
            std::printf("-> %s\n", failed.error().text.c_str());
        }
        for (const pawl::StepInfo& step : run.steps())
            std::printf(
                "   %s: %s after %d attempt(s)\n",
                step.id.c_str(),
                std::string(to_string(step.status)).c_str(),
                step.attempt
            );
    }
    worker.stop();
}
