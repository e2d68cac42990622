// error: write NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Type, members...)
#include <pawl/json.h>
#include <pawl/pawl.h>

struct Plain {
    int count = 0;
};

void use(pawl::Flow& flow) {
    flow.on("price", [](pawl::TaskContext&, const Plain&) { return 1; });
}
