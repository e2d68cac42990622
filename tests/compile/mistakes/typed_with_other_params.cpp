// error: the function does not fit the workflow
#include <pawl/json.h>
#include <pawl/pawl.h>

struct Order {
    int count = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Order, count)

constexpr pawl::Workflow<Order, int> order_workflow{"order"};

void use(pawl::WorkerBuilder& worker) {
    worker.handle(order_workflow, [](pawl::Context&, const std::string&) { return 1; });
}
