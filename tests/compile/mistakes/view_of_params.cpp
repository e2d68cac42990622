// error: take a std::string instead
#include <pawl/json.h>
#include <pawl/pawl.h>

void use(pawl::WorkerBuilder& worker) {
    worker.handle("order", [](pawl::Context&, std::string_view) {});
}
