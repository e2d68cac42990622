#include "postgres/schema/schema_repair.h"

#include <algorithm>
#include <fmt/format.h>
#include <thread>

#include "generated/postgres_sql.h"
#include "postgres/schema/schema_state.h"

namespace pawl::postgres {

namespace {

using store::Difference;
using What = Difference::What;

constexpr Duration index_lock_retry{100};
const store::SchemaObjectName manifest_table{"table", "schema_manifest"};

bool is_script(const Difference& difference) {
    return difference.object.kind == "function" || difference.object.kind == "view";
}

bool is_damage(const Difference& difference) {
    return finding_of(difference).action != InstallAction::keep;
}

std::vector<Difference> damage(const store::Catalogue& found, const store::Catalogue& expected) {
    auto differences = store::compare(found, expected);
    std::erase_if(differences, [](const Difference& d) { return !is_damage(d); });
    return differences;
}

// One process builds indexes at a time. The lock is polled instead of waited for: building an index
// waits for all running statements, and a statement that waits for the lock would never end.
class IndexLock {
public:
    IndexLock(Connection& connection, const PostgresTarget& target)
        : connection_(connection), needed_(target.pooler != Pooler::transaction) {
        key_.text("pawl:indexes:" + target.schema);
        while (needed_ &&
               !connection_.run(sql::try_index_lock, key_, IfAnswerLost::repeat).boolean(0, 0))
            std::this_thread::sleep_for(index_lock_retry);
    }
    ~IndexLock() {
        if (!needed_ || connection_.broken()) return;
        try {
            connection_.run(sql::free_index_lock, key_, IfAnswerLost::repeat);
        } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): ends with the session
        }
    }
    IndexLock(const IndexLock&) = delete;
    IndexLock& operator=(const IndexLock&) = delete;

private:
    Connection& connection_;
    Params key_;
    bool needed_;  // not behind a transaction pooler: its sessions are shared
};

}  // namespace

bool is_test_clock(const Difference& difference) {
    return difference.object.name == "clock()" && difference.what == What::different;
}

SchemaFinding finding_of(const Difference& difference) {
    SchemaFinding finding = store::to_finding(difference);
    if (is_test_clock(difference)) {
        return {
            "clock",
            difference.object.name,
            "the clock is replaced by a test clock",
            InstallAction::keep};
    }
    // A copy of the library's definitions, without data.
    if (difference.object == manifest_table && difference.what == What::missing)
        finding.action = InstallAction::create;
    return finding;
}

void SchemaRepair::restore(Schema schema) {
    auto found = found_catalogue(connection_, target_.schema);
    if (schema == Schema::fresh) {
        record_catalogue(connection_, found);
        return;
    }
    const auto recorded = recorded_catalogue(connection_);
    auto differences = recorded ? damage(found, *recorded) : std::vector<Difference>{};
    if (recorded && differences.empty()) return;
    if (const auto why = unsafe_schema(connection_, target_.schema); !why.empty()) {
        for (const auto& difference : differences) cannot(difference, why);
        return;
    }
    try {
        const auto expected = expected_catalogue(connection_, target_.schema);
        if (!found.contains(manifest_table)) {
            create_manifest(connection_);
            report_.repaired.emplace_back("table schema_manifest is missing: restored");
            found = found_catalogue(connection_, target_.schema);
        }
        record_catalogue(connection_, expected);
        differences = damage(found, expected);
        has_test_clock_ = std::ranges::any_of(store::compare(found, expected), is_test_clock);
    } catch (const Refused& refused) {
        // The role does not own the schema: it reports the differences and uses the schema as it
        // is.
        for (const auto& difference : differences) cannot(difference, refused.error.message);
        return;
    }
    repair(differences);
}

void SchemaRepair::repair(const std::vector<Difference>& differences) {
    if (std::ranges::any_of(differences, is_script)) restore_functions(differences);
    for (const auto& difference : differences) {
        if (is_script(difference)) continue;
        if (difference.object.kind == "index") {
            indexes_.push_back(difference);
        } else if (store::planned_action(difference) == InstallAction::by_hand) {
            cannot(difference, store::why_by_hand(difference));
        } else {
            restore_one(difference);
        }
    }
}

// A view whose columns changed cannot be replaced; a view without a definition in the library is
// dropped first.
void SchemaRepair::restore_functions(const std::vector<Difference>& differences) {
    try {
        ScriptSavepoint savepoint(connection_);
        for (const auto& difference : differences) {
            if (is_script(difference) && difference.what == What::different)
                run_lines(connection_, difference.expected.restore, "drop view");
        }
        apply_functions(connection_);
        if (has_test_clock_) connection_.run(sql::replace_clock, {}, IfAnswerLost::doubt);
        savepoint.keep();
    } catch (const Refused& refused) {
        for (const auto& difference : differences) {
            if (is_script(difference)) cannot(difference, refused.error.message);
        }
        return;
    }
    const std::string roles = roles_to_grant();
    for (const auto& difference : differences) {
        if (!is_script(difference)) continue;
        report_.repaired.push_back(store::describe(difference) + ": restored" + roles);
    }
}

void SchemaRepair::restore_one(const Difference& difference) {
    try {
        ScriptSavepoint savepoint(connection_);
        run_lines(connection_, difference.expected.restore, "restore");
        savepoint.keep();
        report_.repaired.push_back(store::describe(difference) + ": restored");
    } catch (const Refused& refused) {
        cannot(difference, refused.error.message);
    }
}

void SchemaRepair::restore_indexes() {
    if (indexes_.empty()) return;
    const IndexLock lock(connection_, target_);
    const auto missing_still = [&] {
        ScriptTransaction transaction(connection_);
        connection_.run(sql::safe_search_path, {}, IfAnswerLost::repeat);
        return found_catalogue(connection_, target_.schema);
    }();
    for (const auto& difference : indexes_) {
        const auto at = missing_still.find(difference.object);
        const bool restored_meanwhile =
            at != missing_still.end() && at->second.definition == difference.expected.definition;
        if (restored_meanwhile) continue;
        try {
            run_lines(connection_, difference.expected.restore, "restore");
            report_.repaired.push_back(store::describe(difference) + ": restored");
        } catch (const Refused& refused) {
            cannot(difference, refused.error.message);
        }
    }
}

void SchemaRepair::cannot(const Difference& difference, std::string_view why) {
    report_.problems.push_back(
        fmt::format("{}: cannot be restored: {}", store::describe(difference), why)
    );
}

std::string SchemaRepair::roles_to_grant() {
    Params schema;
    schema.text(target_.schema);
    const std::string roles =
        connection_.run(sql::roles_with_access, schema, IfAnswerLost::repeat).string(0, 0);
    if (roles.empty()) return {};
    return fmt::format("; call grant_access again for {}", roles);
}

}  // namespace pawl::postgres
