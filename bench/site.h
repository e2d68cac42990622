// Where a benchmark runs: one backend, a fresh store, bare SQL beside it.
#pragma once

#include <memory>
#include <pawl/pawl.h>
#include <string>

namespace bench {

class Site {
public:
    virtual ~Site() = default;
    [[nodiscard]] virtual std::string backend() const = 0;
    [[nodiscard]] const pawl::Store& store() const { return *store_; }

    // Set-based, so that a million rows take seconds. Leaves the statistics as a running system has
    // them: vacuumed and analysed.
    virtual void fill_ready(const std::string& queue, int count) = 0;
    virtual void fill_waiting(const std::string& queue, int count) = 0;
    virtual void fill_archive(const std::string& queue, int count) = 0;
    virtual void tidy() = 0;
    // Claims and deletes until the queue is empty, without an engine: one connection per consumer,
    // the same tables and indexes. Returns seconds.
    virtual double bare_drain(const std::string& queue, int consumers, int batch) = 0;
    // Transactions of this database so far, where the server counts them; else -1.
    virtual double transactions() { return -1; }

protected:
    std::unique_ptr<pawl::Store> store_;
};

// `name` tells stores of one run apart. Throws where the environment names no place.
std::unique_ptr<Site> postgres_site(const std::string& name);
std::unique_ptr<Site> sqlite_site(const std::string& name);

}  // namespace bench
