#include <fmt/format.h>
#include <pawl/store.h>
#include <pawl/testing.h>

#include "engine/reconnect.h"
#include "engine/worker_watch.h"
#include "model/check.h"
#include "model/counts.h"
#include "model/rules.h"
#include "model/texts.h"
#include "seam/backend.h"

namespace pawl {

using engine::retrying;

Store::Store(std::shared_ptr<seam::Backend> backend)
    : backend_(std::move(backend)),
      worker_watch_(std::make_shared<engine::WorkerWatch>(*backend_)) {}

StoreInfo Store::info() const {
    return backend_->info();
}

InstallReport Store::install() const {
    InstallReport report = retrying(*backend_, [&] { return backend_->install(); });
    for (const std::string& repaired : report.repaired)
        backend_->log().warning("install: " + repaired);
    for (const std::string& problem : report.problems)
        backend_->log().warning("install: " + problem);
    return report;
}

InstallReport Store::install(Compat compat) const {
    InstallReport report = install();
    retrying(*backend_, [&] { backend_->install_compat(compat); });
    return report;
}

std::int64_t Store::restored() const {
    return retrying(*backend_, [&] { return backend_->restored(); });
}

Queue Store::create_queue(const std::string& name, const QueueOptions& options) const {
    model::check_name("queue", name);
    model::check_queue_options(name, options);
    retrying(*backend_, [&] { return backend_->create_queue(name, options); });
    return queue(name);
}

std::vector<Tenant> Store::tenants() const {
    return retrying(*backend_, [&] { return backend_->tenants(); });
}

Store Store::tenant(const std::string& name) const {
    model::check_schema_name(name);
    return Store(backend_->open_tenant(name));
}

Queue Store::queue(std::string name) const {
    return {backend_, std::move(name)};
}

std::vector<QueueInfo> Store::queues() const {
    return retrying(*backend_, [&] { return backend_->queues(); });
}

void Store::delete_queue(const std::string& name, DeleteMode mode) const {
    retrying(*backend_, [&] { return backend_->delete_queue(name, mode); });
}

std::vector<WorkerInfo> Store::workers() const {
    return retrying(*backend_, [&] { return backend_->workers(std::nullopt); });
}

WorkerInfo Store::worker(WorkerId id) const {
    auto found = retrying(*backend_, [&] { return backend_->workers(id); });
    if (!found.empty()) return std::move(found.front());
    throw Error(ErrorCode::worker_not_found, fmt::format(model::texts::worker_missing, id.value()));
}

void Store::transition_worker(WorkerId id, WorkerEvent event) const {
    retrying(*backend_, [&] { return backend_->transition_worker(id, event); });
}

std::int64_t Store::purge_workers(Duration older_than) const {
    model::check_delay("older_than", older_than);
    return retrying(*backend_, [&] { return backend_->purge_workers(older_than); });
}

void Store::delete_worker(WorkerId id) const {
    retrying(*backend_, [&] { return backend_->delete_worker(id); });
}

std::vector<Message> Store::held_messages(WorkerId id, const PageRequest& page) const {
    model::check_page_limit(page.limit);
    return retrying(*backend_, [&] { return backend_->held_messages(id, page); });
}

StoreStats Store::stats() const {
    return retrying(*backend_, [&] { return backend_->stats(); });
}

std::vector<QueueStats> Store::queue_stats() const {
    return retrying(*backend_, [&] {
        return backend_->queue_stats({}, model::rules::archive_list_limit);
    });
}

Timestamp Store::now() const {
    return retrying(*backend_, [&] { return backend_->now(); });
}

namespace testing {

void set_clock(const Store& store, Timestamp now) {
    store.backend()->set_test_clock(now);
}

void advance_clock(const Store& store, Duration by) {
    store.backend()->set_test_clock(store.now() + by);
}

void restore_clock(const Store& store) {
    store.backend()->set_test_clock(std::nullopt);
}

}  // namespace testing
}  // namespace pawl
