// The composition root: the only file that knows every backend.
#include <fmt/format.h>
#include <pawl/install_script.h>

#include "engine/access.h"
#include "model/check.h"
#include "seam/backend.h"
#include "store/url.h"

#ifdef PAWL_WITH_POSTGRES
#include "postgres/open_postgres.h"
#endif
#ifdef PAWL_WITH_SQLITE
#include "sqlite/open_sqlite.h"
#endif

namespace pawl::inline v0 {

namespace {

[[noreturn]] [[maybe_unused]] void refuse_missing(std::string_view what, std::string_view option) {
    throw Error(
        ErrorCode::backend_missing,
        fmt::format("this build does not support {}; build pawl with -D{}=ON", what, option)
    );
}

[[noreturn]] void refuse_value(
    std::string_view parameter, std::string_view value, std::string_view known
) {
    throw Error(
        ErrorCode::invalid_url,
        fmt::format(
            "unknown value in parameter '{}={}' of the URL; use {}", parameter, value, known
        )
    );
}

bool is_postgres(const store::Url& url) {
    return (url.scheme() == "postgresql" || url.scheme() == "postgres") &&
           url.rest().starts_with("//");
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
    target.own_parameters = url.known();
    return postgres::open_postgres(std::move(target), std::move(options));
#else
    (void)url, (void)options;
    refuse_missing("PostgreSQL", "PAWL_POSTGRES");
#endif
}

std::shared_ptr<seam::Backend> open_sqlite_url(store::Url& url, const ConnectOptions& options) {
#ifdef PAWL_WITH_SQLITE
    sqlite::SqliteTarget target;
    target.path = url.rest().starts_with("//") ? url.rest().substr(2) : url.rest();
    if (target.path.empty())
        throw Error(
            ErrorCode::invalid_url,
            "the URL has no file name; use sqlite:file.db or sqlite::memory:"
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
    return sqlite::open_sqlite(target, options);
#else
    (void)url, (void)options;
    refuse_missing("SQLite", "PAWL_SQLITE");
#endif
}

}  // namespace

Store connect(std::string_view given, ConnectOptions options) {
    const std::string text(given);
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
    if (url.scheme() == "sqlite") return detail::Access::store(open_sqlite_url(url, options));
    if (is_postgres(url)) return detail::Access::store(open_postgres_url(url, std::move(options)));
    store::refuse_url(text);
}

InstallScript install_script(std::string_view given, int from_version) {
    store::Url url{std::string(given)};
    if (url.scheme() == "sqlite") {
#ifdef PAWL_WITH_SQLITE
        return sqlite::install_script(from_version);
#else
        refuse_missing("SQLite", "PAWL_SQLITE");
#endif
    }
    if (!is_postgres(url)) store::refuse_url(given);
#ifdef PAWL_WITH_POSTGRES
    const auto schema = url.take("schema").value_or(postgres::PostgresTarget{}.schema);
    model::check_schema_name(schema);
    return postgres::install_script(schema, from_version);
#else
    (void)from_version;
    refuse_missing("PostgreSQL", "PAWL_POSTGRES");
#endif
}

}  // namespace pawl::inline v0
