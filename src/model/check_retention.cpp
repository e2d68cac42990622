#include "model/check_retention.h"

#include <fmt/format.h>

#include "model/check.h"
#include "model/enum_names.h"

namespace pawl::model {

namespace {

constexpr std::int64_t max_count = 1'000'000;

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
        refuse(fmt::format(
            "retention of {} is of the whole store: name no queue or workflow", to_string(kind)
        ));
    if (scope != RetentionScope::store && name.empty())
        refuse(fmt::format(
            "retention of {} is of a {}: name one, or '*' for all",
            to_string(kind),
            scope == RetentionScope::workflow ? "workflow" : "queue"
        ));
}

void check_retention(RetentionKind kind, std::string_view name, const Keep& keep) {
    check_retention_name(kind, name);
    const std::string what = fmt::format("retention of {}", to_string(kind));
    if (keep.age && (*keep.age < Duration::zero() || *keep.age > longest_kept))
        refuse(what + ": age must be 0 to 100 years");
    if (keep.count && (*keep.count < 0 || *keep.count > max_count))
        refuse(fmt::format("{}: count must be 0 to {}", what, max_count));
    if (keep.count && !goes_by_count(kind)) refuse(what + " goes by age alone: give no count");
}

void check_prune_options(const PruneOptions& options) {
    if (options.batch_rows < 1 || options.batch_rows > 10'000)
        refuse("prune: batch_rows must be 1 to 10000");
    if (options.share < 1 || options.share > 100) refuse("prune: share must be 1 to 100 percent");
}

}  // namespace pawl::model
