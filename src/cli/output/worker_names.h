// Workers in tables: their names beside the ids.
#pragma once

#include <map>
#include <pawl/store.h>
#include <string>

namespace pawl::cli {

/// Asks the store once for each worker.
class WorkerNames {
public:
    explicit WorkerNames(Store store) : store_(std::move(store)) {}
    /// "worker-1 (7)"; only the number where the store has forgotten it, "-" for none.
    [[nodiscard]] const std::string& of(WorkerId id);

private:
    [[nodiscard]] std::string ask(WorkerId id) const;

    Store store_;
    std::map<WorkerId, std::string> known_{{WorkerId(), "-"}};
};

}  // namespace pawl::cli
