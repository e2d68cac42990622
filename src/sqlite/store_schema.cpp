#include "sqlite/schema.h"
#include "sqlite/sqlite_store.h"
#include "sqlite/transaction.h"

namespace pawl::sqlite {

// Takes the write lock only if there is something to do; a second process finds it done.
void SqliteStore::install_compat(Compat /*compat*/) {
    throw Error(
        ErrorCode::invalid_argument,
        "the names of pgflow are SQL functions, which SQLite does not have: use PostgreSQL"
    );
}

InstallReport SqliteStore::install() {
    const auto connection = connections_.creator();
    Session& session = connection.session();
    InstallReport report{installed_version(session), newest_version(), {}, {}};
    if (report.from_version != newest_version() || !schema_differences(session).empty()) {
        WriteTransaction transaction(session);
        apply_migrations(session);
        repair_schema(session, report);
        transaction.commit();
    }
    note_installed();
    hub().notify_all();
    return report;
}

SchemaReport SqliteStore::verify() {
    try {
        const auto connection = connections_.reader();
        const ReadTransaction transaction(connection.session());
        return inspect_schema(connection.session());
    } catch (const Error& error) {
        if (error.code() != ErrorCode::not_installed) throw;
        return {0, {store::version_finding(target_.path, 0, newest_version(), error.what())}};
    }
}

}  // namespace pawl::sqlite
