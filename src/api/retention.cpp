#include <pawl/retention.h>
#include <pawl/store.h>
#include <thread>

#include "engine/prune_pass.h"
#include "engine/reconnect.h"
#include "model/check_retention.h"
#include "seam/backend.h"

namespace pawl {

using engine::retrying;

void Store::set_retention(RetentionKind kind, const std::string& name, const Keep& keep) const {
    model::check_retention(kind, name, keep);
    retrying(*backend_, [&] { return backend_->set_retention(kind, name, keep); });
}

void Store::set_retention(RetentionKind kind, const Keep& keep) const {
    set_retention(kind, "", keep);
}

void Store::clear_retention(RetentionKind kind, const std::string& name) const {
    model::check_retention_name(kind, name);
    retrying(*backend_, [&] { return backend_->clear_retention(kind, name); });
}

std::vector<RetentionPolicy> Store::retention() const {
    return retrying(*backend_, [&] { return backend_->retention(); });
}

PruneReport Store::prune(const PruneOptions& options) const {
    model::check_prune_options(options);
    engine::PrunePass pass(*backend_, options);
    while (pass.step()) {
        if (!options.dry_run) std::this_thread::sleep_for(pass.pause(options.share));
    }
    return pass.report();
}

}  // namespace pawl
