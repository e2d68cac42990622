// error: wrong arguments: the handler of a queue takes (const T&), (pawl::HandlerContext&, const
// T&)
#include <pawl/json.h>
#include <pawl/pawl.h>

struct Order {
    int count = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Order, count)

void use(pawl::WorkerBuilder& worker) {
    worker.on_message("mail", [](const Order&, pawl::HandlerContext&) {});
}
