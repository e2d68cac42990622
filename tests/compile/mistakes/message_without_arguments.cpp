// error: wrong arguments: the handler of a queue takes (const T&), (pawl::HandlerContext&, const
// T&)
#include <pawl/json.h>
#include <pawl/pawl.h>

void use(pawl::WorkerBuilder& worker) {
    worker.on_message("mail", [] {});
}
