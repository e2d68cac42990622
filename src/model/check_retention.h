// Checks of retention policies and of the options of prune(); see check.h.
#pragma once

#include <pawl/retention.h>
#include <string>
#include <string_view>

namespace pawl::model {

enum class RetentionScope { workflow, queue, store };
[[nodiscard]] RetentionScope scope_of(RetentionKind kind);

void check_retention_name(RetentionKind kind, std::string_view name);
void check_retention(RetentionKind kind, std::string_view name, const Keep& keep);
void check_prune_options(const PruneOptions& options);

}  // namespace pawl::model
