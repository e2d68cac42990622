// error: (pawl::TaskContext&, const Input&)
#include <pawl/json.h>
#include <pawl/pawl.h>

struct Order {
    int count = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Order, count)

void use(pawl::Flow& flow) {
    flow.on("price", [](const Order&, pawl::TaskContext&) { return 1; });
}
