// error: a handler of batches takes (std::span<const pawl::Message>)
#include <pawl/json.h>
#include <pawl/pawl.h>

struct Order {
    int count = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Order, count)

void use(pawl::WorkerBuilder& worker) {
    worker.on_batch("mail", 10, [](const std::vector<Order>&) {});
}
