// The storage interface. Stores differ in implementation, not in behaviour: tests/store defines the
// behaviour.
#pragma once

#include <memory>
#include <pawl/store.h>
#include <string>
#include <vector>

#include "seam/catalogue.h"
#include "seam/engine.h"
#include "seam/reports.h"

namespace pawl::seam {

class Backend;

// The store as a whole: its schema, its clock and the tenants of its database.
class Schema {
public:
    virtual ~Schema() = default;
    [[nodiscard]] virtual StoreInfo info() const = 0;
    virtual InstallReport install() = 0;
    // Requires an installed store. Throws invalid_argument.
    virtual void install_compat(Compat compat) = 0;
    virtual SchemaReport verify() = 0;
    // Fences every holder from before a restore. Returns the number of live messages.
    virtual std::int64_t restored() = 0;
    virtual Timestamp now() = 0;
    virtual void set_test_clock(std::optional<Timestamp> now) = 0;  // nullopt restores the real one
    // Works even if this store is not installed.
    virtual std::vector<Tenant> tenants() { unsupported("tenants"); }
    // The caller has checked the name (model::check_schema_name).
    virtual std::shared_ptr<Backend> open_tenant(const std::string& /*name*/) {
        unsupported("tenants");
    }
};

class Backend : public Engine, public Catalogue, public Reports, public Schema {
public:
    using Engine::Engine;
    // Options for another store of the same program. Both call the log hook one at a time.
    [[nodiscard]] ConnectOptions shared_options() const {
        ConnectOptions options = this->options();
        options.log = [log = log()](LogLevel level, std::string_view text) {
            log.write(level, text);
        };
        return options;
    }
};

}  // namespace pawl::seam
