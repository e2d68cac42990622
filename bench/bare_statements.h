// Prepared statements over a bare libpq connection, one round trip each.
#pragma once

#include "bare_postgres.h"
#include "postgres/driver/params.h"

namespace bench {

class BareStatements {
public:
    explicit BareStatements(const std::string& url) : bare_(url) {}

    void run(const std::string& sql) const { bare_.run(sql); }
    void prepare(const char* name, const std::string& sql) const {
        bare_.check(PQprepare(bare_.connection, name, sql.c_str(), 0, nullptr));
    }
    PostgresResult execute(const char* name, const pawl::postgres::Params& params) {
        ++round_trips_;
        constexpr int binary = 1;
        const char* const* values = params.values();
        return bare_.check(PQexecPrepared(
            bare_.connection,
            name,
            params.count(),
            values,
            params.lengths(),
            params.formats(),
            binary
        ));
    }
    [[nodiscard]] double round_trips() const { return round_trips_; }

private:
    BarePostgres bare_;
    double round_trips_ = 0;
};

}  // namespace bench
