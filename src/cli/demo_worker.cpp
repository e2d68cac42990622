// pawl demo-worker: one worker process of pawl demo. Not for people.
#include <memory>
#include <pawl/worker.h>
#include <thread>

#include "cli/commands.h"
#include "cli/demo.h"

namespace pawl::cli {

namespace {

ExitCode work(const Context& context, const std::string& name) {
    const Store store = context.connect(demo::connect_options());
    auto worker = pawl::worker(name)
                      .on_message(
                          demo::queue_name,
                          [](const Message&) { std::this_thread::sleep_for(demo::handler_time); }
                      )
                      .concurrency(2)
                      .lease(demo::lease)
                      .heartbeat(demo::heartbeat)
                      .poll_interval(250ms)
                      .create(store);
    worker.handle_signals();
    worker.poll_forever();
    return ExitCode::ok;
}

}  // namespace

void add_demo_worker_command(const Command& root) {
    const auto name = std::make_shared<std::string>();
    root.add(demo::worker_command, "A worker of pawl demo")
        .hidden()
        .argument("NAME", *name, "Its name")
        .run([name](const Context& context) { return work(context, *name); });
}

}  // namespace pawl::cli
