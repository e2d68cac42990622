// The statements of sql/sqlite, in the dialect that all row stores use.
#pragma once

#include "generated/sqlite_sql.h"

namespace pawl::rowstore {

namespace sql = sqlite::sql;

}  // namespace pawl::rowstore
