// Owning handles for libpq's objects.
#pragma once

#include <memory>

#include <libpq-fe.h>

namespace pawl::postgres {

template <auto Free>
struct Deleter {
    template <class T>
    void operator()(T* object) const {
        Free(object);
    }
};

using PgConnection = std::unique_ptr<PGconn, Deleter<PQfinish>>;
using PgResult = std::unique_ptr<PGresult, Deleter<PQclear>>;
using PgNotify = std::unique_ptr<PGnotify, Deleter<PQfreemem>>;

}  // namespace pawl::postgres
