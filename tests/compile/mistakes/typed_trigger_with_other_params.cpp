// error: Order
#include <pawl/json.h>
#include <pawl/pawl.h>

struct Order {
    int count = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Order, count)

constexpr pawl::Workflow<Order, Order> order_workflow{"order"};

void use(const pawl::Store& store) {
    (void)order_workflow.trigger(std::string("a book")).execute(store);
}
