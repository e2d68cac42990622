// error: name their type, handle<Params>(name, handler)
#include <pawl/json.h>
#include <pawl/pawl.h>

void use(pawl::WorkerBuilder& worker) {
    worker.handle("order", [](auto& ctx, auto order) {
        return ctx.step("a", [&] { return order.count; });
    });
}
