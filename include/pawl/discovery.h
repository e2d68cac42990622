// Discovery: workflows that register themselves at static initialisation, so that a worker can
// handle everything that is linked into the program.
//
//   PAWL_WORKFLOW("billing.invoice", invoice);                    // at namespace scope
//   auto worker = pawl::worker("w").discover("billing.").create(store);
//
// From a static library the linker drops object files that the program does not refer to: link it
// with pawl_link_workflows(target library) in CMake.
#pragma once

#include <pawl/context.h>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::inline v0 {

/// A function that PAWL_WORKFLOW registered.
struct DiscoveredWorkflow {
    std::string name;
    WorkflowHandler handler;
};

/// The workflows that PAWL_WORKFLOW registered and whose names begin with the prefix, by name. Does
/// no I/O. Throws duplicate_workflow if a name was registered twice.
[[nodiscard]] PAWL_EXPORT std::vector<DiscoveredWorkflow> discover_workflows(
    std::string_view prefix = ""
);

/// @cond
namespace detail {
struct PAWL_EXPORT WorkflowRegistration {
    WorkflowRegistration(std::string name, WorkflowHandler handler) noexcept;
};
}  // namespace detail
/// @endcond

}  // namespace pawl::inline v0

#define PAWL_DETAIL_JOIN_AGAIN(a, b) a##b
#define PAWL_DETAIL_JOIN(a, b) PAWL_DETAIL_JOIN_AGAIN(a, b)
/// Registers a function: PAWL_WORKFLOW("zip_files", zip_files); at namespace scope. The function is
/// what WorkerBuilder::handle() takes. Registering does no I/O and never throws.
#define PAWL_WORKFLOW(name, function)                                   \
    static const ::pawl::detail::WorkflowRegistration PAWL_DETAIL_JOIN( \
        pawl_workflow_, __COUNTER__                                     \
    )(name, ::pawl::make_workflow_handler(function))
