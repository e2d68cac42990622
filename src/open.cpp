// The composition root: the only file that knows every backend.
#include <fmt/format.h>

#include "model/check.h"
#include "seam/backend.h"
#include "store/url.h"

#ifdef PAWL_WITH_POSTGRES
#include "postgres/open_postgres.h"
#endif
#ifdef PAWL_WITH_SQLITE
#include "sqlite/open_sqlite.h"
#endif

namespace pawl {

namespace {

[[noreturn]] [[maybe_unused]] void refuse_missing(std::string_view what, std::string_view option) {
    throw Error(
        ErrorCode::backend_missing,
        fmt::format("this build has no {} store: build pawl with -D{}=ON", what, option)
    );
}

[[noreturn]] void refuse_value(
    std::string_view parameter, std::string_view value, std::string_view known
) {
    throw Error(
        ErrorCode::invalid_url,
        fmt::format("parameter {}={} is unknown: use {}", parameter, value, known)
    );
}

std::shared_ptr<seam::Backend> open_postgres_url(store::Url& url, ConnectOptions options) {
#ifdef PAWL_WITH_POSTGRES
    postgres::PostgresTarget target;
    if (const auto schema = url.take("schema")) target.schema = *schema;
    model::check_schema_name(target.schema);
    target.max_connections =
        url.take_number("max_connections", 3, 1000).value_or(target.max_connections);
    if (const auto pooler = url.take("pooler")) {
        if (*pooler == "transaction") {
            target.pooler = postgres::Pooler::transaction;
        } else if (*pooler == "session") {
            target.pooler = postgres::Pooler::session;
        } else if (*pooler != "none") {
            refuse_value("pooler", *pooler, "transaction, session or none");
        }
    }
    target.url = url.remaining();
    return postgres::open_postgres(std::move(target), std::move(options));
#else
    (void)url, (void)options;
    refuse_missing("PostgreSQL", "PAWL_POSTGRES");
#endif
}

std::shared_ptr<seam::Backend> open_sqlite_url(store::Url& url, ConnectOptions options) {
#ifdef PAWL_WITH_SQLITE
    sqlite::SqliteTarget target;
    target.path = url.rest().starts_with("//") ? url.rest().substr(2) : url.rest();
    if (target.path.empty())
        throw Error(
            ErrorCode::invalid_url, "the URL names no file: use sqlite:file.db or sqlite::memory:"
        );
    if (const auto synchronous = url.take("synchronous")) {
        if (*synchronous == "normal") {
            target.synchronous = sqlite::SqliteTarget::Synchronous::normal;
        } else if (*synchronous != "full") {
            refuse_value("synchronous", *synchronous, "full or normal");
        }
    }
    if (const auto timeout = url.take_number("busy_timeout", 0, 3'600'000))
        target.busy_timeout = Duration(*timeout);
    target.max_connections =
        url.take_number("max_connections", 1, 1000).value_or(target.max_connections);
    if (const auto schema = url.take("schema")) {
        model::check_schema_name(*schema);
        target = sqlite::tenant_target(target, *schema);
    }
    url.refuse_unknown();
    return sqlite::open_sqlite(target, std::move(options));
#else
    (void)url, (void)options;
    refuse_missing("SQLite", "PAWL_SQLITE");
#endif
}

}  // namespace

Store connect(const std::string& text, ConnectOptions options) {
    if (options.lease <= Duration::zero() || options.heartbeat <= Duration::zero())
        throw Error(
            ErrorCode::invalid_argument, "ConnectOptions: lease and heartbeat must be above 0"
        );
    model::check_delay("ConnectOptions: lease", options.lease);
    if (options.heartbeat > options.lease / 2) {
        throw Error(
            ErrorCode::invalid_argument,
            "ConnectOptions: heartbeat must be at most half of the lease"
        );
    }
    model::check_positive("ConnectOptions: call_timeout", options.call_timeout);
    model::check_positive("ConnectOptions: producer_timeout", options.producer_timeout);
    model::check_positive("ConnectOptions: pause_check_interval", options.pause_check_interval);
    model::check_delay("ConnectOptions: poll_interval", options.poll_interval);
    if (options.poll_interval < 10ms)
        throw Error(
            ErrorCode::invalid_argument, "ConnectOptions: poll_interval must be at least 10 ms"
        );
    store::Url url(text);
    if (url.scheme() == "sqlite") return Store(open_sqlite_url(url, std::move(options)));
    if ((url.scheme() == "postgresql" || url.scheme() == "postgres") &&
        url.rest().starts_with("//"))
        return Store(open_postgres_url(url, std::move(options)));
    throw Error(
        ErrorCode::invalid_url,
        fmt::format(
            "'{}' is not a store's URL: use sqlite:file.db, sqlite::memory: or "
            "postgresql://host/db",
            store::redacted(text)
        )
    );
}

}  // namespace pawl
