// Part of a static library; no other code refers to it.
#include <pawl/json.h>
#include <pawl/pawl.h>

namespace {

int twice(pawl::Context& ctx, int number) {
    return ctx.step("twice", [&] { return 2 * number; });
}
PAWL_WORKFLOW("numbers.twice", twice);

}  // namespace
