// Waiting for a person: the run pauses, holds no thread, survives restarts, and continues when it
// is resumed.
#include <cstdio>
#include <pawl/json.h>
#include <pawl/pawl.h>

struct Decision {
    bool approved = false;
    std::string by;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Decision, approved, by)

std::string expense(pawl::Context& ctx, int amount) {
    ctx.step("check", [&] { std::printf("check: %d is within the budget\n", amount); });
    const auto decision = ctx.pause<Decision>("approval", "who approves the expense?");
    if (!decision.approved) return "refused by " + decision.by;
    ctx.step("pay", [&] { std::printf("pay: %d\n", amount); });
    return "approved by " + decision.by;
}

int main() {
    pawl::Store store = pawl::connect("sqlite::memory:");
    store.install();
    store.create_workflow("expense");
    pawl::Worker worker = pawl::worker("worker-1").handle("expense", expense).create(store);

    const pawl::Run run = pawl::workflow("expense").trigger(120).execute(store);
    worker.poll_once();  // claims and executes ready runs, returns after the commit
    std::printf("the run is %s\n", std::string(to_string(run.status())).c_str());
    std::printf("approval: %s\n", run.step("approval").pause_message.c_str());

    run.resume("approval", Decision{true, "Grace"});
    try {
        run.resume("approval", Decision{false, "Charles"});  // the first resume wins
    } catch (const pawl::Error& error) {
        std::printf("%s\n", std::string(to_string(error.code())).c_str());
    }
    worker.poll_once();
    std::printf("the run is %s: ", std::string(to_string(run.status())).c_str());
    std::printf("%s\n", run.output<std::string>().c_str());
}
