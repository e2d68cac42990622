// error: write NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Type, members...)
#include <pawl/json.h>
#include <pawl/pawl.h>

struct Plain {
    int count = 0;
};

constexpr pawl::Workflow<Plain, int> order_workflow{"order"};

void use(const pawl::Store& store) {
    const int total = order_workflow.trigger({3}).execute(store).wait(pawl::Duration(1));
    (void)total;
}
