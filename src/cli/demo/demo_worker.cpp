// pawl demo-worker: one worker process of pawl demo, hidden from users.
#include <condition_variable>
#include <fmt/format.h>
#include <memory>
#include <mutex>
#include <pawl/worker.h>
#include <thread>

#include "cli/demo/demo.h"
#include "cli/frame/commands.h"
#include "cli/frame/literals.h"

namespace pawl::cli {

namespace {

struct WorkerArguments {
    std::string name;
    std::string stuck_in;  // a step that runs until the process is killed
};

void wait_for_death(const std::stop_token& stop) {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any never;
    never.wait(lock, stop, [] { return false; });
}

// The workflow's function; it prints what it does.
class OrderHandler {
public:
    OrderHandler(const Context& output, const WorkerArguments& arguments)
        : output_(output), arguments_(arguments) {}

    demo::Shipment operator()(pawl::Context& run, const demo::Order& order) const {
        demo::Shipment shipment;
        shipment.item = order.item;
        shipment.reservation = step(run, demo::steps[0], "R");
        shipment.payment = step(run, demo::steps[1], "P");
        shipment.parcel = step(run, demo::steps[2], "B");
        shipment.tracking = step(run, demo::steps[3], "T");
        output_.print(demo::returned);
        return shipment;
    }

private:
    std::string step(pawl::Context& run, std::string_view id, const char* prefix) const {
        bool has_run = false;
        auto result = run.step(std::string(id), [&] {
            has_run = true;
            tell(id, demo::runs);
            work(run, id);
            return fmt::format("{}-{}", prefix, run.run_id().value());
        });
        if (!has_run) tell(id, demo::recorded);
        return result;
    }
    void work(const pawl::Context& run, std::string_view id) const {
        if (id == arguments_.stuck_in) wait_for_death(run.stop_token());
        std::this_thread::sleep_for(demo::step_time);
    }
    void tell(std::string_view id, std::string_view what) const {
        output_.print(fmt::format("{} {}", id, what));
    }

    const Context& output_;
    const WorkerArguments& arguments_;
};

ExitCode work(const Context& context, const WorkerArguments& arguments) {
    ConnectOptions options = demo::connect_options();
    options.log = nullptr;  // the demo prints everything itself
    const Store store = context.connect(std::move(options));
    auto worker =
        pawl::worker(arguments.name)
            .handle(demo::ship_order, OrderHandler(context, arguments))
            .subscribe(std::string(demo::ship_order.name()))  // whatever the environment says
            .poll_interval(100ms)
            .create(store);
    worker.handle_signals();
    context.print(demo::ready);
    worker.poll_forever();
    return ExitCode::ok;
}

}  // namespace

void add_demo_worker_command(const Command& root) {
    const auto arguments = std::make_shared<WorkerArguments>();
    root.add(demo::worker_command, "A worker of pawl demo")
        .hidden()
        .argument("NAME", arguments->name, "Its name")
        .option("--stuck-in", arguments->stuck_in, "A step that never ends")
        .run([arguments](const Context& context) { return work(context, *arguments); });
}

}  // namespace pawl::cli
