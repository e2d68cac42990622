#include "cli/frame/similar_name.h"

#include <fmt/format.h>
#include <vector>

#include "base/similar.h"
#include "cli/frame/literals.h"

namespace pawl::cli {

namespace {

struct Known {
    const char* list_command = nullptr;
    std::vector<std::string> names;
};

template <class Things>
std::vector<std::string> names_of(const Things& things) {
    std::vector<std::string> names;
    for (const auto& thing : things) names.push_back(thing.name);
    return names;
}

Known known_names(const Store& store, ErrorCode code) {
    if (code == ErrorCode::queue_not_found) return {"pawl queue list", names_of(store.queues())};
    if (code == ErrorCode::schedule_not_found)
        return {"pawl schedule list", names_of(store.schedules())};
    auto workflows = store.workflows();
    if (code == ErrorCode::workflow_not_found) return {"pawl workflow list", names_of(workflows)};
    std::erase_if(workflows, [](const WorkflowInfo& workflow) { return !workflow.is_flow; });
    return {"pawl flow list", names_of(workflows)};
}

bool is_about_a_name(ErrorCode code) {
    return code == ErrorCode::queue_not_found || code == ErrorCode::workflow_not_found ||
           code == ErrorCode::flow_not_found || code == ErrorCode::schedule_not_found;
}

}  // namespace

std::string similar_name(const Context& context, ErrorCode code, const std::string& name) {
    if (name.empty() || !is_about_a_name(code)) return {};
    try {
        ConnectOptions options;
        options.log = nullptr;
        options.retry_timeout = 1s;
        const Known known = known_names(context.connect(std::move(options)), code);
        const auto similar = base::most_similar(name, known.names);
        if (!similar) return {};
        return fmt::format("did you mean '{}'?   ({} shows all)", *similar, known.list_command);
    } catch (const Error&) {  // the error at hand is the one to report
        return {};
    }
}

}  // namespace pawl::cli
