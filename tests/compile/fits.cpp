// Handlers, bodies and types that must compile without a cast, a macro or a named type.
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <pawl/compat.h>
#include <pawl/json.h>
#include <pawl/pawl.h>
#include <string>

namespace {

enum class Size { small, large };
NLOHMANN_JSON_SERIALIZE_ENUM(Size, {{Size::small, "small"}, {Size::large, "large"}})

struct Order {
    std::string item;
    std::optional<std::string> note;
    std::chrono::system_clock::time_point at;
    std::chrono::seconds limit{};
    Size size = Size::small;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Order, item, note, at, limit, size)

}  // namespace

struct Service {
    int work(pawl::Context&, const Order&) { return 1; }
    int look(pawl::Context&, Order) const noexcept { return 2; }
    void mail(pawl::HandlerContext&, const Order&) {}
};

namespace {

int plain_function(pawl::Context&, const Order&) noexcept {
    return 3;
}

constexpr pawl::Workflow<Order, int> order_workflow{"order"};
constexpr pawl::Workflow<void, void> empty_workflow{"empty"};

}  // namespace

void handlers(pawl::WorkerBuilder& worker, Service& service) {
    worker.handle("a", plain_function);
    worker.handle("b", [](pawl::Context&, const Order& order) noexcept { return order; });
    worker.handle("c", std::bind_front(&Service::work, &service));
    worker.handle("d", std::bind_front(&Service::look, &service));
    worker.handle("e", std::function<int(pawl::Context&, Order)>(plain_function));
    worker.handle("f", [own = std::make_unique<int>(1)](pawl::Context&, Order&&) { return *own; });
    worker.handle("g", [](pawl::Context&, pawl::Json input) { return input; });
    worker.handle<Order>("h", [](auto&, auto order) { return order.item; });
    worker.handle(order_workflow, [](auto&, auto&) { return 1; });
    worker.handle(order_workflow, [](pawl::Context&, Order) -> short { return 1; });
    worker.handle(empty_workflow, [](pawl::Context&) { return 1; });
    worker.on_message("m", [](const Order&) noexcept {});
    worker.on_message("m", [](pawl::HandlerContext&, Order) {});
    worker.on_message("m", [](pawl::HandlerContext&, const pawl::Message&) {});
    worker.on_message("m", std::bind_front(&Service::mail, &service));
    worker.on_message<Order>("m", [](auto&, auto) {});
    worker.on_batch("m", 4, [](std::span<const pawl::Message>) {});
    pawl::Flow flow("f");
    flow.on("s", [](pawl::TaskContext&, const Order&) { return "x"; });
    flow.on<Order>("s", [](auto&, auto) {});
    flow.on("s", pawl::workflow("order"));
}

void steps(pawl::Context& ctx) {
    const std::string text = ctx.step("a", [] { return "text"; });
    const std::optional<int> none = ctx.step("b", [] { return std::optional<int>(); });
    const auto now = ctx.step("c", [] { return std::chrono::system_clock::now(); });
    const Size size = ctx.step("d", {.max_attempts = 1}, []() noexcept { return Size::large; });
    ctx.step("e", [own = std::make_unique<int>(1)] {});
    ctx.pause<void>("f", "continue?");
    ctx.call("g", empty_workflow.trigger());
    ctx.call<void>("h", pawl::workflow("x").trigger("text"));
    (void)(text.size() + none.value_or(1));
    (void)now;
    (void)size;
}

void handles(const pawl::Store& store) {
    const auto run = empty_workflow.trigger().execute(store);
    run.wait(pawl::Duration(1));
    run.output();
    empty_workflow.trigger().wait(pawl::Duration(1)).execute(store);
    const pawl::Run plain = run;
    plain.wait<void>(pawl::Duration(1));
    const pawl::RunOf<int> typed = order_workflow.get_run(run.id(), store);
    const pawl::Run named = pawl::workflow("order").get_run(typed.id(), store);
    named.resume("step", "yes");
    store.queue("mail").enqueue("text");
    store.queue("mail").enqueue(std::optional<int>(3));
}
