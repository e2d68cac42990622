// The outbox: integration events that commit with the state change that they describe, and the
// dispatcher that delivers them: at least once, in order per aggregate, with a stable id.
//
//   ctx.publish("invoice.paid", payload);                         // in a workflow, like a step
//   store.publish({"invoice.paid", payload, "invoice-42"});       // or publish_in(...)
//   auto dispatcher = pawl::dispatcher(store, pawl::http_sink("https://example.org/events"));
//   dispatcher.start();
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <pawl/run.h>
#include <pawl/transaction.h>
#include <pawl/types.h>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::runtime {
class OutboxDispatcher;
}

namespace pawl::inline v0 {

class Store;

/// An event to be published.
struct NewOutboxEvent {
    std::string type;  ///< "invoice.paid": 1 to 255 bytes
    Json payload = {};
    std::string aggregate = {};  ///< events of one aggregate are delivered in order; "" for none
    std::string subject = {};    ///< CloudEvents' subject; default: the aggregate
    std::optional<std::string> traceparent = {};  ///< W3C trace context, passed on
};

/// pending: to be delivered, possibly again. published: delivered. parked: given up after
/// max_attempts, until Store::retry_parked().
enum class OutboxStatus { pending, published, parked };
/// The name, the same as in SQL: "PENDING", "PUBLISHED", "PARKED".
[[nodiscard]] PAWL_EXPORT std::string_view to_string(OutboxStatus status);

/// An event as it is stored.
struct OutboxEvent {
    std::int64_t id = 0;   ///< order of arrival
    std::string event_id;  ///< a UUID, the same at every delivery: what consumers deduplicate by
    std::string type;
    Json payload;
    std::string aggregate;
    std::string subject;
    std::optional<std::string> traceparent;
    RunId run;  ///< the run that published it, if one did
    OutboxStatus status = OutboxStatus::pending;
    int attempts = 0;        ///< failed deliveries
    std::string last_error;  ///< of the last failed delivery
    Timestamp created_at;
    std::optional<Timestamp> visible_at;  ///< for a pending event: when it is delivered (again)
    std::optional<Timestamp> published_at;
};

/// Selects events. An event matches if every field that is set matches.
struct OutboxFilter {
    std::optional<OutboxStatus> status = {};
    std::optional<std::string> type = {};
    std::optional<std::string> aggregate = {};
    RunId run = {};
    std::int64_t after = 0;  ///< keyset paging, oldest first: the last id of the page before
    int limit = 100;         ///< 1 to 10,000
};

/// The result of one delivery.
struct SinkResult {
    /// What the dispatcher does next.
    enum class Kind { delivered, retry, reject };
    Kind kind = Kind::delivered;               ///< reject: a retry is useless, the event is parked
    std::string error = {};                    ///< for retry and reject: why; stored and shown
    std::optional<Duration> retry_after = {};  ///< for retry; default: the dispatcher's backoff
};
/// The name: "delivered", "retry", "reject".
[[nodiscard]] PAWL_EXPORT std::string_view to_string(SinkResult::Kind kind);

/// Delivers one event. Called from the dispatcher's threads, one call at a time per aggregate. An
/// exception counts as retry. It may get an event twice, with the same event_id.
using Sink = std::function<SinkResult(const OutboxEvent&)>;

/// The options of http_sink().
struct HttpSinkOptions {
    /// CloudEvents 1.0 over HTTP: the event is the body, or its attributes are headers.
    enum class Mode { structured, binary };
    Mode mode = Mode::structured;
    std::string source = "pawl";                  ///< CloudEvents' source
    Duration timeout = std::chrono::seconds(10);  ///< for the whole call
    bool verify_tls = true;
    std::string ca_file = {};                         ///< default: the system's
    std::map<std::string, std::string> headers = {};  ///< e.g. Authorization; never logged
};
/// The name: "structured", "binary".
[[nodiscard]] PAWL_EXPORT std::string_view to_string(HttpSinkOptions::Mode mode);
/// POSTs each event. 2xx means delivered. 408, 429 (with Retry-After), 5xx and connection errors
/// are retried; other answers park the event. The program must link pawl::http. Throws invalid_url,
/// and backend_missing if this build has no HTTP.
[[nodiscard]] PAWL_EXPORT Sink http_sink(std::string_view url, HttpSinkOptions options = {});
/// Appends each event as one line of CloudEvents JSON, flushed to disk before it counts as
/// delivered. The file is opened at each delivery; an error is a failed delivery.
[[nodiscard]] PAWL_EXPORT Sink file_sink(std::string_view path, std::string_view source = "pawl");
/// The event as a CloudEvents 1.0 JSON object.
[[nodiscard]] PAWL_EXPORT Json to_cloud_event(const OutboxEvent& event, std::string_view source);

/// The options of a dispatcher.
struct DispatcherOptions {
    int max_attempts = 10;                            ///< then the event is parked
    Duration backoff_base = std::chrono::seconds(1);  ///< wait before the first retry
    Duration backoff_cap = std::chrono::minutes(5);   ///< the longest wait before a retry
    /// How long a dispatcher holds claimed events; if it crashes, another one takes over after this
    /// time.
    Duration lease = std::chrono::seconds(60);
    int batch = 100;      ///< events per claim
    int concurrency = 4;  ///< aggregates at a time
    /// How often it checks the store if no wake-up arrives.
    Duration poll_interval = std::chrono::seconds(5);
};

/// Delivers the outbox of a store. Any number of dispatchers, in any number of processes, may run
/// at the same time. It can be moved, not copied, and keeps the store open. Its functions may be
/// called from any thread. While the database is away it keeps trying, and logs it.
class PAWL_EXPORT Dispatcher {
public:
    /// @{
    /// Moves the handle; the dispatcher continues.
    Dispatcher(Dispatcher&&) noexcept;
    Dispatcher& operator=(Dispatcher&&) noexcept;
    /// @}

    /// Calls stop(): it blocks until the deliveries in progress have returned.
    ~Dispatcher();
    void start();  ///< starts the threads and returns
    /// Delivers what is due now and returns how many events. Blocks until they are delivered. While
    /// the database is away it retries for ConnectOptions::retry_timeout, then it throws.
    int dispatch_once();
    /// Claims no more events and waits for deliveries in progress. Idempotent. Called from the
    /// sink, which is such a delivery, it only requests the stop and returns; the destructor, or
    /// another thread's stop(), waits then.
    void stop();

private:
    friend struct detail::Access;
    explicit Dispatcher(std::shared_ptr<runtime::OutboxDispatcher> implementation);
    std::shared_ptr<runtime::OutboxDispatcher> implementation_;
};
/// Creates a dispatcher, which does nothing before start(). A worker can dispatch too: see
/// WorkerBuilder::dispatch(). Throws invalid_argument.
[[nodiscard]] PAWL_EXPORT Dispatcher
dispatcher(const Store& store, Sink sink, DispatcherOptions options = {});

}  // namespace pawl::inline v0
