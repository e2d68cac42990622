// error: write NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Type, members...)
#include <pawl/json.h>
#include <pawl/pawl.h>

struct Plain {
    int count = 0;
};

void use(pawl::WorkerBuilder& worker) {
    worker.on_message("mail", [](pawl::HandlerContext&, const Plain&) {});
}
