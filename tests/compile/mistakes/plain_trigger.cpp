// error: write NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Type, members...)
#include <pawl/json.h>
#include <pawl/pawl.h>

struct Plain {
    int count = 0;
};

void use(const pawl::Store& store) {
    (void)pawl::workflow("order").trigger(Plain{}).execute(store);
}
