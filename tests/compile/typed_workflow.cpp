// A typed workflow, as a program uses it.
#include <pawl/json.h>
#include <pawl/pawl.h>
#include <string>

namespace {

struct Order {
    std::string item;
    int count = 0;
};
struct Receipt {
    int number = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Order, item, count)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Receipt, number)

constexpr pawl::Workflow<Order, Receipt> order_workflow{"order"};

}  // namespace

void use(const pawl::Store& store) {
    const auto run = order_workflow.trigger({"book", 2}).execute(store);
    const Receipt receipt = run.wait(pawl::Duration(1));
    (void)receipt;
    const auto handler = [](pawl::Context&, const Order&) { return Receipt{}; };
    (void)pawl::worker("w").handle(order_workflow, handler).create(store);
}
