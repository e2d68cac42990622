#include "model/check_retention.h"

#include <fmt/format.h>

#include "model/check.h"
#include "model/enum_names.h"
#include "model/rules.h"
#include "model/texts.h"

namespace pawl::model {

namespace {

bool goes_by_count(RetentionKind kind) {
    return kind != RetentionKind::events && kind != RetentionKind::deleted &&
           kind != RetentionKind::workers;
}

}  // namespace

RetentionScope scope_of(RetentionKind kind) {
    switch (kind) {
        case RetentionKind::success:
        case RetentionKind::failed:
        case RetentionKind::events:
            return RetentionScope::workflow;
        case RetentionKind::archive:
        case RetentionKind::dead_letters:
            return RetentionScope::queue;
        case RetentionKind::outbox:
        case RetentionKind::deleted:
        case RetentionKind::workers:
            break;
    }
    return RetentionScope::store;
}

void check_retention_name(RetentionKind kind, std::string_view name) {
    const auto scope = scope_of(kind);
    if (scope == RetentionScope::store && !name.empty())
        refuse(fmt::format(texts::retention_of_store, to_string(kind)));
    if (scope != RetentionScope::store && name.empty())
        refuse(fmt::format(
            texts::retention_of_one,
            to_string(kind),
            scope == RetentionScope::workflow ? "workflow" : "queue"
        ));
}

void check_retention(RetentionKind kind, std::string_view name, const Keep& keep) {
    check_retention_name(kind, name);
    if (keep.age && (*keep.age < Duration::zero() || *keep.age > rules::longest_kept))
        refuse(fmt::format(texts::retention_age, to_string(kind)));
    if (keep.count && (*keep.count < 0 || *keep.count > rules::max_kept))
        refuse(fmt::format(texts::retention_count, to_string(kind), rules::max_kept));
    if (keep.count && !goes_by_count(kind))
        refuse(fmt::format(texts::retention_by_age, to_string(kind)));
}

void check_prune_options(const PruneOptions& options) {
    if (options.batch_rows < 1 || options.batch_rows > rules::max_prune_rows)
        refuse(fmt::format("prune: batch_rows must be 1 to {}", rules::max_prune_rows));
    if (options.share < 1 || options.share > 100) refuse("prune: share must be 1 to 100 percent");
}

}  // namespace pawl::model
