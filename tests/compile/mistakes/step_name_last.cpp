// error: the name of a step comes first
#include <pawl/json.h>
#include <pawl/pawl.h>

void use(pawl::Context& ctx) {
    ctx.step([] {}, "count");
}
