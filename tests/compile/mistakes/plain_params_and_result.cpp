// error: write NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Type, members...)
#include <pawl/json.h>
#include <pawl/pawl.h>

struct Plain {
    int count = 0;
};

void use(pawl::WorkerBuilder& worker) {
    worker.handle("order", [](pawl::Context&, const Plain& plain) { return plain; });
}
