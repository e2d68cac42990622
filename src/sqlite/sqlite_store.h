// The store on an SQLite file: its connections, its schema, and the wake-ups after its commits.
#pragma once

#include <memory>
#include <mutex>

#include "rowstore/store/row_store.h"
#include "sqlite/connections.h"
#include "sqlite/file_watch.h"
#include "sqlite/open_sqlite.h"

namespace pawl::sqlite {

class SqliteStore : public rowstore::RowStore {
public:
    SqliteStore(const SqliteTarget& target, const ConnectOptions& options);

    [[nodiscard]] StoreInfo info() const override;
    InstallReport install() override;
    void install_compat(Compat compat) override;
    SchemaReport verify() override;
    std::vector<Tenant> tenants() override;
    std::shared_ptr<seam::Backend> open_tenant(const std::string& name) override;

    seam::WakeHub& wake_hub() override;
    seam::RunWakeups& run_wakeups() override;
    std::optional<seam::RunEnd> announce_waiter(RunId run) override;

protected:
    void run_read(Work work) override;
    void run_write(Work work) override;
    void run_in(const Transaction& transaction, std::string_view call, Work work) override;
    void require_schema(rowstore::Session& session) override;
    [[nodiscard]] std::int64_t version_of_others() override;

private:
    void start_watch();
    void forget_file();

    const SqliteTarget target_;
    const std::string tenants_of_;  // absolute: the current folder may change
    Connections connections_;       // calls forget_file()
    std::once_flag watching_;
    std::unique_ptr<FileWatch> watch_;  // last: its thread uses the other members
};

}  // namespace pawl::sqlite
