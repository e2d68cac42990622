// error: write NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Type, members...)
#include <pawl/json.h>
#include <pawl/pawl.h>

void use(pawl::Context& ctx) {
    (void)ctx.step("now", [] { return std::chrono::steady_clock::now(); });
}
