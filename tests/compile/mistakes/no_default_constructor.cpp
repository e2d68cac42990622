// error: it needs a default constructor
#include <pawl/json.h>
#include <pawl/pawl.h>

class Order {
public:
    explicit Order(int count) : count_(count) {}
    friend void to_json(nlohmann::json& json, const Order& order) { json = order.count_; }
    friend void from_json(const nlohmann::json& json, Order& order) { order.count_ = json; }

private:
    int count_;
};

void use(pawl::Context& ctx) {
    (void)ctx.step("order", [] { return Order(3); });
}
