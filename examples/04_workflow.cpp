// A workflow: a plain function whose finished steps never run again. Here its last step fails at
// first; the function is called again, and the earlier steps return their recorded results.
#include <cstdio>
#include <pawl/json.h>
#include <pawl/pawl.h>

struct Order {
    std::string item;
    int count = 0;
};
struct Receipt {
    std::string payment;
    int total = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Order, item, count)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Receipt, payment, total)

constexpr pawl::Workflow<Order, Receipt> order_workflow{"order"};

Receipt handle_order(pawl::Context& ctx, const Order& order) {
    const int total = ctx.step("price", [&] {
        std::puts("price: looked up");
        return 12 * order.count;
    });
    const auto payment = ctx.step("charge", [&] {
        std::printf("charge: %d\n", total);
        return "payment-1";
    });
    ctx.step("ship", [&] {
        std::printf("ship: %s, attempt %d\n", order.item.c_str(), ctx.attempt());
        if (ctx.attempt() == 1) throw std::runtime_error("the carrier does not answer");
    });
    return {payment, total};
}

int main() {
    pawl::Store store = pawl::connect("sqlite::memory:");  // or sqlite:app.db, postgresql://host/db
    store.install();
    store.create_workflow("order", {.backoff_base = pawl::Duration(10)});
    pawl::Worker worker =
        pawl::worker("worker-1").handle(order_workflow, handle_order).create(store);
    worker.start();

    const auto run = order_workflow.trigger({"book", 2}).idempotency_key("order-42").execute(store);
    const Receipt receipt = run.wait(std::chrono::seconds(30));
    std::printf("receipt: %s, %d\n", receipt.payment.c_str(), receipt.total);
    for (const pawl::StepInfo& step : run.steps())
        std::printf("%s: %d execution(s)\n", step.id.c_str(), step.attempt);
    worker.stop();
}
