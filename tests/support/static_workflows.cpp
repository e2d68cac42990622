// A workflow in a static library; no other code refers to it.
#include <pawl/json.h>
#include <pawl/pawl.h>

PAWL_WORKFLOW("static_library.job", [](pawl::Context& ctx, int n) {
    return ctx.step("double", [&] { return n * 2; });
});
