// error: on_message<T>(queue, handler)
#include <pawl/json.h>
#include <pawl/pawl.h>

void use(pawl::WorkerBuilder& worker) {
    worker.on_message("mail", [](auto& context, auto mail) { mail.send(context); });
}
