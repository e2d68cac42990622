// Workflows that make themselves known at static initialisation, so that a worker can take up all
// that is linked in. From a static library the linker drops what nobody refers to: link it with
// pawl_link_workflows(target library) in CMake.
#pragma once

#include <pawl/context.h>
#include <string>
#include <string_view>
#include <vector>

namespace pawl {

struct DiscoveredWorkflow {
    std::string name;
    WorkflowHandler handler;
};

/// What PAWL_WORKFLOW registered, by name, whose names begin with the prefix. Throws
/// duplicate_workflow where a name was registered twice.
[[nodiscard]] std::vector<DiscoveredWorkflow> discover_workflows(std::string_view prefix = "");

namespace detail {
struct WorkflowRegistration {
    WorkflowRegistration(std::string name, WorkflowHandler handler) noexcept;
};
}  // namespace detail

}  // namespace pawl

#define PAWL_DETAIL_JOIN_AGAIN(a, b) a##b
#define PAWL_DETAIL_JOIN(a, b) PAWL_DETAIL_JOIN_AGAIN(a, b)
/// PAWL_WORKFLOW("zip_files", zip_files); at namespace scope.
#define PAWL_WORKFLOW(name, function)                                   \
    static const ::pawl::detail::WorkflowRegistration PAWL_DETAIL_JOIN( \
        pawl_workflow_, __COUNTER__                                     \
    )(name, ::pawl::make_workflow_handler(function))
