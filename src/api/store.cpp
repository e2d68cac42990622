#include <fmt/format.h>
#include <pawl/store.h>
#include <pawl/testing.h>

#include "engine/access.h"
#include "engine/reconnect.h"
#include "model/check.h"
#include "model/counts.h"
#include "model/rules.h"
#include "model/texts.h"
#include "seam/backend.h"

namespace pawl::inline v0 {

std::vector<std::string> SchemaReport::problems() const {
    std::vector<std::string> texts;
    for (const SchemaFinding& finding : findings) texts.push_back(finding.problem);
    return texts;
}

StoreInfo Store::info() const {
    return store_->backend()->info();
}

InstallReport Store::install() const {
    InstallReport report = store_->retrying([&](auto& backend) { return backend.install(); });
    for (const std::string& repaired : report.repaired)
        store_->backend()->log().warning("install: " + repaired);
    for (const std::string& problem : report.problems)
        store_->backend()->log().warning("install: " + problem);
    return report;
}

InstallReport Store::install(Compat compat) const {
    InstallReport report = install();
    store_->retrying([&](auto& backend) { backend.install_compat(compat); });
    return report;
}

std::int64_t Store::restored() const {
    return store_->retrying([&](auto& backend) { return backend.restored(); });
}

Queue Store::create_queue(std::string_view queue_name, const QueueOptions& options) const {
    const std::string name(queue_name);
    model::check_name("queue", name);
    model::check_queue_options(name, options);
    store_->retrying([&](auto& backend) { return backend.create_queue(name, options); });
    return queue(name);
}

std::vector<Tenant> Store::tenants() const {
    return store_->retrying([&](auto& backend) { return backend.tenants(); });
}

Store Store::tenant(std::string_view tenant_name) const {
    const std::string name(tenant_name);
    model::check_schema_name(name);
    return detail::Access::store(store_->retrying([&](auto& backend) {
        return backend.open_tenant(name);
    }));
}

Queue Store::queue(std::string_view name) const {
    return detail::Access::queue(*this, std::string(name));
}

std::vector<QueueInfo> Store::queues() const {
    return store_->retrying([&](auto& backend) { return backend.queues(); });
}

void Store::delete_queue(std::string_view name, DeleteMode mode) const {
    store_->retrying([&](auto& backend) { return backend.delete_queue(std::string(name), mode); });
}

std::vector<WorkerInfo> Store::workers() const {
    return store_->retrying([&](auto& backend) { return backend.workers(std::nullopt); });
}

WorkerInfo Store::worker_info(WorkerId id) const {
    auto found = store_->retrying([&](auto& backend) { return backend.workers(id); });
    if (!found.empty()) return std::move(found.front());
    throw Error(ErrorCode::worker_not_found, fmt::format(model::texts::worker_missing, id.value()));
}

void Store::transition_worker(WorkerId id, WorkerEvent event) const {
    store_->retrying([&](auto& backend) { return backend.transition_worker(id, event); });
}

std::int64_t Store::purge_workers(Duration older_than) const {
    model::check_delay("older_than", older_than);
    return store_->retrying([&](auto& backend) { return backend.purge_workers(older_than); });
}

void Store::delete_worker(WorkerId id) const {
    store_->retrying([&](auto& backend) { return backend.delete_worker(id); });
}

std::vector<Message> Store::held_messages(WorkerId id, const PageRequest& page) const {
    model::check_page_limit(page.limit);
    return store_->retrying([&](auto& backend) { return backend.held_messages(id, page); });
}

StoreStats Store::stats() const {
    return store_->retrying([&](auto& backend) { return backend.stats(); });
}

std::vector<QueueStats> Store::queue_stats() const {
    return store_->retrying([&](auto& backend) {
        return backend.queue_stats({}, model::rules::archive_list_limit);
    });
}

Timestamp Store::now() const {
    return store_->retrying([&](auto& backend) { return backend.now(); });
}

namespace testing {

namespace {

void replace_clock(const Store& store, std::optional<Timestamp> now) {
    seam::Backend& backend = *detail::Access::backend(store);
    engine::retrying(backend, [&] { backend.set_test_clock(now); });
}

}  // namespace

void set_clock(const Store& store, Timestamp now) {
    replace_clock(store, now);
}

void advance_clock(const Store& store, Duration by) {
    replace_clock(store, store.now() + by);
}

void restore_clock(const Store& store) {
    replace_clock(store, std::nullopt);
}

}  // namespace testing
}  // namespace pawl::inline v0
