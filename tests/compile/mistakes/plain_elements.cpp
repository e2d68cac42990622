// error: write NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Type, members...)
#include <pawl/json.h>
#include <pawl/pawl.h>

struct Plain {
    int count = 0;
};

void use(pawl::Context& ctx) {
    const auto list = ctx.step("list", [] { return std::vector<std::optional<Plain>>(3); });
    (void)list.size();
}
