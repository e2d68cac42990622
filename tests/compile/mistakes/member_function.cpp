// error: a member function needs its object
#include <pawl/json.h>
#include <pawl/pawl.h>

struct Order {
    int count = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Order, count)

struct Service {
    int work(pawl::Context& ctx, const Order& order);
};

void use(pawl::WorkerBuilder& worker) {
    worker.handle("order", &Service::work);
}
