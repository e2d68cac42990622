// error: the body of a step is a function without arguments
#include <pawl/json.h>
#include <pawl/pawl.h>

void use(pawl::Context& ctx) {
    const int count = ctx.step("count", 3);
    (void)count;
}
