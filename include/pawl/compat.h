// Opt-in: names that users of other engines know, over pawl's own. New code needs none of them.
//
//   pawl::consumer("worker-1", 8080, "zip_files").handler(zip_files).create(store)
//   pawl::workflow("zip_files").get_run(id, store)
//   pawl::poll_for_tasks(store, "web_analysis", {.vt = 60s, .qty = 5})
#pragma once

#include <pawl/pawl.h>
#include <string>
#include <string_view>
#include <utility>

namespace pawl::inline v0 {

namespace detail {

/// get_run() of workflows: store.run(id), after a check that the run is one of this workflow.
/// Throws run_not_found if it is not, or does not exist.
[[nodiscard]] PAWL_EXPORT Run
run_of_workflow(std::string_view workflow, RunId id, const Store& store);

template <class AnyStore>
struct CompatRuns {
    [[nodiscard]] static Run find(std::string_view workflow, RunId id, const AnyStore& store) {
        return run_of_workflow(workflow, id, store);
    }
};

}  // namespace detail

/// A worker for one workflow. Options of WorkerBuilder come after handler().
class ConsumerBuilder {
public:
    /// See consumer().
    ConsumerBuilder(std::string_view name, int port, std::string_view workflow)
        : builder_(name), workflow_(workflow) {
        builder_.port(port);
    }
    /// The function of the workflow: see WorkerBuilder::handle(). Ends this builder.
    template <class Params = detail::Deduced, class F>
    [[nodiscard]] WorkerBuilder handler(F function) && {
        return std::move(builder_.template handle<Params>(workflow_, std::move(function)));
    }

private:
    WorkerBuilder builder_;
    std::string workflow_;
};
/// Starts a builder; does no I/O. `port` is shown to operators; nothing listens there.
[[nodiscard]] inline ConsumerBuilder consumer(
    std::string_view name, int port, std::string_view workflow
) {
    return {name, port, workflow};
}

/// The options of poll_for_tasks(), with the names of pgflow and pgmq.
struct PollOptions {
    Duration vt = std::chrono::seconds(30);  ///< the lease of tasks that have no timeout
    int qty = 1;                             ///< the largest number of tasks
};
/// Store::poll_for_tasks(), with pgflow's names.
[[nodiscard]] inline std::vector<Task> poll_for_tasks(
    const Store& store, std::string_view flow, const PollOptions& options = {}
) {
    return store.poll_for_tasks(flow, options.qty, options.vt);
}

}  // namespace pawl::inline v0
