// Workers in tables: their names and ids.
#pragma once

#include <map>
#include <pawl/store.h>
#include <string>

namespace pawl::cli {

/// Reads each worker from the store once.
class WorkerNames {
public:
    explicit WorkerNames(Store store) : store_(std::move(store)) {}
    /// "worker-1 (7)"; only the id if the worker was deleted, "-" for no worker.
    [[nodiscard]] const std::string& of(WorkerId id);

private:
    [[nodiscard]] std::string ask(WorkerId id) const;

    Store store_;
    std::map<WorkerId, std::string> known_{{WorkerId(), "-"}};
};

}  // namespace pawl::cli
