// Several workers with different roles. PAWL_WORKFLOW registers functions for discover(), and a
// prefix selects the ones that a worker handles; PAWL_WORKER_PREFIXES=billing. in the environment
// does the same.
#include <cstdio>
#include <pawl/json.h>
#include <pawl/pawl.h>

namespace {

int invoice(pawl::Context& ctx, int hours) {
    return ctx.step("multiply", [&] { return 80 * hours; });
}
PAWL_WORKFLOW("billing.invoice.v2", invoice);

std::string resize(pawl::Context& ctx, const std::string& picture) {
    return ctx.step("resize", [&] { return "small_" + picture; });
}
PAWL_WORKFLOW("media.resize", resize);

void show(const pawl::Run& run, const pawl::Store& store) {
    const pawl::RunInfo info = run.info();
    std::printf(
        "%s -> %s, by %s\n",
        info.workflow.c_str(),
        info.output.value_or(pawl::Json{}).text.c_str(),
        info.worker ? store.worker_info(info.worker).name.c_str() : "no worker"
    );
}

}  // namespace

int main() {
    pawl::Store store = pawl::connect("sqlite::memory:", {.log = nullptr});  // no warnings here
    store.install();
    for (const pawl::DiscoveredWorkflow& found : pawl::discover_workflows())
        std::printf("discovered %s\n", found.name.c_str());

    // discover() also creates the workflows; subscribe() keeps only those below the prefix.
    pawl::Worker billing = pawl::worker("B").discover().subscribe("billing.").create(store);
    pawl::Worker media = pawl::worker("M").discover().subscribe("media.").create(store);
    billing.start();
    media.start();

    const auto bill = pawl::workflow("billing.invoice.v2").trigger(3).execute(store);
    const auto picture =
        pawl::workflow("media.resize").trigger(std::string("cat.png")).execute(store);
    bill.wait(std::chrono::seconds(30));
    picture.wait(std::chrono::seconds(30));
    show(bill, store);
    show(picture, store);

    // Below the prefix of a live worker, but no live worker has a handler for it.
    store.create_workflow("billing.refund");
    const auto refund = pawl::workflow("billing.refund").trigger().execute(store);
    try {
        refund.wait(std::chrono::seconds(30));
    } catch (const pawl::ExecutionFailed& failed) {
        std::printf("%s\n", failed.error().text.c_str());
    }
}
