// error: add #include <pawl/json.h>
#include <pawl/pawl.h>

void use(pawl::Context& ctx) {
    const int count = ctx.step("count", [] { return 3; });
    (void)count;
}
