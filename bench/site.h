// The environment of a benchmark: one backend, a fresh store, bare SQL for comparison.
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

    // Set-based, so that a million rows take seconds. Vacuums and analyses the tables, like a
    // running system.
    virtual void fill_ready(const std::string& queue, int count) = 0;
    virtual void fill_waiting(const std::string& queue, int count) = 0;
    virtual void fill_archive(const std::string& queue, int count) = 0;
    virtual void tidy() = 0;
    // Claims and deletes until the queue is empty, without an engine: one connection per consumer,
    // the same tables and indexes. Returns the seconds.
    virtual double bare_drain(const std::string& queue, int consumers, int batch) = 0;
    // Transactions of this database so far; -1 if the server does not count them.
    virtual double transactions() { return -1; }

protected:
    std::unique_ptr<pawl::Store> store_;
};

// `name` distinguishes the stores of one process. Throws if the environment variable is not set.
std::unique_ptr<Site> postgres_site(const std::string& name);
std::unique_ptr<Site> sqlite_site(const std::string& name);

}  // namespace bench
