// error: const int
#include <pawl/json.h>
#include <pawl/pawl.h>

struct Order {
    int count = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Order, count)

constexpr pawl::Workflow<Order, Order> order_workflow{"order"};

void use(const pawl::Store& store) {
    const int count = order_workflow.trigger({3}).execute(store).wait(pawl::Duration(1));
    (void)count;
}
