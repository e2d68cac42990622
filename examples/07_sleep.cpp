// A durable timer: a sleeping run holds no thread and survives restarts. A day works like the fifth
// of a second here; ctx.sleep_until() takes a time instead.
#include <cstdio>
#include <pawl/json.h>
#include <pawl/pawl.h>

using namespace std::chrono_literals;

void remind(pawl::Context& ctx, const std::string& whom) {
    ctx.step("first_mail", [&] { std::printf("%s, please pay\n", whom.c_str()); });
    ctx.sleep(200ms);
    ctx.step("second_mail", [&] { std::printf("%s, please pay now\n", whom.c_str()); });
}

int main() {
    pawl::Store store = pawl::connect("sqlite::memory:");
    store.install();
    store.create_workflow("remind");
    pawl::Worker worker = pawl::worker("worker-1").handle("remind", remind).create(store);

    const pawl::Run run = pawl::workflow("remind").trigger(std::string("Ada")).execute(store);
    worker.poll_once();
    std::printf("the run is %s\n", std::string(to_string(run.status())).c_str());

    worker.start();
    run.wait(30s);
    const pawl::StepInfo before = store.run(run.id()).step("first_mail");
    const pawl::StepInfo after = store.run(run.id()).step("second_mail");
    const bool early = *after.started_at - *before.completed_at < 200ms;
    std::printf("the second mail came %s\n", early ? "too early" : "in its time");
    worker.stop();
}
