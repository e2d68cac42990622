#include <algorithm>
#include <fmt/format.h>
#include <pawl/discovery.h>

namespace pawl {

namespace {

// Made on first use: registrations of other files may come before anything here is initialised.
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
                "PAWL_WORKFLOW(\"{}\", ...) stands in this program more than once: give each "
                "workflow a name of its own",
                twice->name
            )
        );
    return found;
}

}  // namespace pawl
