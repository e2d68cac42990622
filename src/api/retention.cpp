#include <pawl/retention.h>
#include <pawl/store.h>
#include <thread>

#include "engine/open_store.h"
#include "engine/prune_pass.h"
#include "model/check_retention.h"
#include "seam/backend.h"

namespace pawl::inline v0 {

void Store::set_retention(RetentionKind kind, std::string_view of, const Keep& keep) const {
    const std::string name(of);
    model::check_retention(kind, name, keep);
    store_->retrying([&](auto& backend) { return backend.set_retention(kind, name, keep); });
}

void Store::set_retention(RetentionKind kind, const Keep& keep) const {
    set_retention(kind, "", keep);
}

void Store::clear_retention(RetentionKind kind, std::string_view of) const {
    const std::string name(of);
    model::check_retention_name(kind, name);
    store_->retrying([&](auto& backend) { return backend.clear_retention(kind, name); });
}

std::vector<RetentionPolicy> Store::retention() const {
    return store_->retrying([&](auto& backend) { return backend.retention(); });
}

PruneReport Store::prune(const PruneOptions& options) const {
    model::check_prune_options(options);
    engine::PrunePass pass(*store_->backend(), options);
    while (pass.step()) {
        if (!options.dry_run) std::this_thread::sleep_for(pass.pause(options.share));
    }
    return pass.report();
}

}  // namespace pawl::inline v0
