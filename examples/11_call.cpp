// Code and flows together: a workflow calls a flow and waits for its result without a thread, and a
// step of that flow is executed as a run of another workflow.
#include <cstdio>
#include <pawl/json.h>
#include <pawl/pawl.h>

using Numbers = std::vector<int>;

struct Squares {
    Numbers square;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Squares, square)

// Processes one element of the map: a separate run with steps, retries and pauses.
int square(pawl::Context& ctx, int number) {
    return ctx.step("multiply", [&] { return number * number; });
}

std::string publish(pawl::Context& ctx, const Numbers& numbers) {
    ctx.step("announce", [&] { std::printf("publish: %zu numbers\n", numbers.size()); });
    const auto squares = ctx.call<Squares>("squares", pawl::flow("squares").start(numbers));
    return ctx.step("publish", [&] {
        const auto text = nlohmann::json(squares.square).dump();
        std::printf("publish: %s\n", text.c_str());
        return text;
    });
}

int main() {
    pawl::Store store = pawl::connect("sqlite::memory:");
    store.install();
    store.create_workflow("publish");
    store.create_workflow("square");
    pawl::flow("squares").map("square").create(store);

    pawl::Worker worker =
        pawl::worker("worker-1")
            .handle("publish", publish)
            .handle("square", square)
            .flow("squares", pawl::FlowHandlers().on("square", pawl::workflow("square")))
            .create(store);
    worker.start();
    const pawl::Run run = pawl::workflow("publish").trigger(Numbers{2, 3, 4}).execute(store);
    (void)run.wait_json(std::chrono::seconds(30));
    worker.stop();
    for (const pawl::StepInfo& step : run.steps())
        std::printf("%s: %s\n", step.id.c_str(), step.output->text.c_str());
    std::printf("%lld runs succeeded\n", static_cast<long long>(store.count_runs().success));
}
