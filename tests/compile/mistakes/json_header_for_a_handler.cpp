// error: add #include <pawl/json.h>
#include <pawl/pawl.h>

struct Order {
    int count = 0;
};

void use(pawl::WorkerBuilder& worker) {
    worker.handle("order", [](pawl::Context&, const Order& order) { return order; });
}
