// error: on<Input>(step, handler)
#include <pawl/json.h>
#include <pawl/pawl.h>

void use(pawl::Flow& flow) {
    flow.on("price", [](auto& ctx, auto input) { return ctx.attempt() + input.count; });
}
