#include "cli/output/worker_names.h"

#include <fmt/format.h>

namespace pawl::cli {

const std::string& WorkerNames::of(WorkerId id) {
    const auto found = known_.find(id);
    return found != known_.end() ? found->second : known_.emplace(id, ask(id)).first->second;
}

std::string WorkerNames::ask(WorkerId id) const {
    try {
        return fmt::format("{} ({})", store_.worker_info(id).name, id.value());
    } catch (const Error& error) {
        if (error.code() != ErrorCode::worker_not_found) throw;
        return std::to_string(id.value());
    }
}

}  // namespace pawl::cli
