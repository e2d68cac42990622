// Restores objects of an installed schema that are missing or differ from the library's definition.
#pragma once

#include <pawl/store.h>

#include "postgres/driver/connection.h"
#include "store/schema_compare.h"

namespace pawl::postgres {

class SchemaRepair {
public:
    SchemaRepair(Connection& connection, const PostgresTarget& target, InstallReport& report)
        : connection_(connection), target_(target), report_(report) {}

    // Inside install()'s transaction: everything except indexes. `fresh`: this transaction created
    // all objects.
    enum class Schema { fresh, existing };
    void restore(Schema schema);
    // After the transaction: workers continue to write while an index is built.
    void restore_indexes();

private:
    void repair(const std::vector<store::Difference>& differences);
    void restore_functions(const std::vector<store::Difference>& differences);
    void restore_one(const store::Difference& difference);
    void cannot(const store::Difference& difference, std::string_view why);
    [[nodiscard]] std::string roles_to_grant();

    Connection& connection_;
    const PostgresTarget& target_;
    InstallReport& report_;
    std::vector<store::Difference> indexes_;
    bool has_test_clock_ = false;
};

// A test has replaced the clock: this is not damage.
[[nodiscard]] bool is_test_clock(const store::Difference& difference);

// What verify() reports: as restore() would treat it.
[[nodiscard]] SchemaFinding finding_of(const store::Difference& difference);

}  // namespace pawl::postgres
