// The JSON of retention and pruning.
#include "cli/output/render.h"
#include "cli/output/render_object.h"

namespace pawl::cli {

std::string to_json(const RetentionPolicy& policy) {
    return dump(Object{
        {"kind", to_string(policy.kind)},
        {"name", or_null(policy.name)},
        {"keep_age_ms", or_null(policy.keep.age)},
        {"keep_count", or_null(policy.keep.count)},
    });
}

std::string to_json(const PruneReport& report) {
    Object parts = Object::array();
    for (const auto& part : report.parts)
        parts.push_back(Object{
            {"kind", to_string(part.kind)},
            {"name", or_null(part.name)},
            {"pruned", part.pruned},
        });
    return dump(Object{
        {"dry_run", report.dry_run},
        {"pruned", report.total()},
        {"batches", report.batches},
        {"parts", parts},
    });
}

}  // namespace pawl::cli
