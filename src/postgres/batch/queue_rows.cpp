#include "postgres/batch/queue_rows.h"

#include <algorithm>

namespace pawl::postgres {

Count read_count(
    const Rows& rows, int row, int column, int at_least_column, std::string_view name
) {
    const auto at_least = rows.text_array(row, at_least_column);
    return {rows.int8(row, column), std::ranges::find(at_least, name) == at_least.end()};
}

}  // namespace pawl::postgres
