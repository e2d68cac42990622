#include <algorithm>
#include <fmt/format.h>
#include <pawl/discovery.h>

namespace pawl::inline v0 {

namespace {

// Created on first use: other files may register before anything here is initialised.
std::vector<DiscoveredWorkflow>& registered() {
    static std::vector<DiscoveredWorkflow> workflows;
    return workflows;
}

}  // namespace

detail::WorkflowRegistration::WorkflowRegistration(
    std::string name, WorkflowHandler handler
) noexcept {
    registered().push_back({std::move(name), std::move(handler)});
}

std::vector<DiscoveredWorkflow> discover_workflows(std::string_view prefix) {
    std::vector<DiscoveredWorkflow> found;
    std::ranges::copy_if(
        registered(),
        std::back_inserter(found),
        [&](const DiscoveredWorkflow& workflow) { return workflow.name.starts_with(prefix); }
    );
    std::ranges::sort(found, {}, &DiscoveredWorkflow::name);
    const auto twice = std::ranges::adjacent_find(found, {}, &DiscoveredWorkflow::name);
    if (twice != found.end())
        throw Error(
            ErrorCode::duplicate_workflow,
            fmt::format(
                "workflow '{}' is registered more than once in this program; give each "
                "PAWL_WORKFLOW(name, function) its own name",
                twice->name
            )
        );
    return found;
}

}  // namespace pawl::inline v0
