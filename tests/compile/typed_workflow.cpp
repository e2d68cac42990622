// A typed workflow and what must not compile with it; which part, the build says by a definition.
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
#ifdef WRONG_PARAMS
    order_workflow.trigger(std::string("a book")).execute(store);
#else
    const auto run = order_workflow.trigger({"book", 2}).execute(store);
#endif
#ifdef WRONG_RESULT
    const std::string receipt = run.wait(pawl::Duration(1));
#elif !defined(WRONG_PARAMS)
    const Receipt receipt = run.wait(pawl::Duration(1));
    (void)receipt;
#endif
#ifdef WRONG_HANDLER_PARAMS
    const auto handler = [](pawl::Context&, const Receipt&) { return Receipt{}; };
#elif defined(WRONG_HANDLER_RESULT)
    const auto handler = [](pawl::Context&, const Order&) { return std::string(); };
#else
    const auto handler = [](pawl::Context&, const Order&) { return Receipt{}; };
#endif
    (void)pawl::worker("w").handle(order_workflow, handler).create(store);
}
