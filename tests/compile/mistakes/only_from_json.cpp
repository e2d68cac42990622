// error: it has from_json() but no to_json()
#include <pawl/json.h>
#include <pawl/pawl.h>

struct Order {
    int count = 0;
};
void from_json(const nlohmann::json& json, Order& order) {
    order.count = json;
}

void use(const pawl::Store& store) {
    store.queue("mail").enqueue(Order{});
}
