// error: wrong arguments: the function of a workflow takes (pawl::Context&, const Params&)
#include <pawl/json.h>
#include <pawl/pawl.h>

struct Order {
    int count = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Order, count)

void use(pawl::WorkerBuilder& worker) {
    worker.handle("order", [](pawl::Context&, const Order&, int) {});
}
