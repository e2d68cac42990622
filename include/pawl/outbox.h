// The outbox: integration events that commit with the state change they tell of, and the dispatcher
// that delivers them, at least once, in order per aggregate, with a stable id for deduplication.
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

namespace pawl {

class Store;
namespace runtime {
class OutboxDispatcher;
}

struct NewOutboxEvent {
    std::string type;  ///< "invoice.paid": 1 to 255 bytes
    Json payload = {};
    std::string aggregate = {};  ///< events of one aggregate are delivered in order; "" none
    std::string subject = {};    ///< CloudEvents' subject; default: the aggregate
    std::optional<std::string> traceparent = {};  ///< W3C trace context, passed on
};

/// pending: to be delivered, maybe again; published: delivered; parked: given up after
/// max_attempts, with its error, until somebody retries it.
enum class OutboxStatus { pending, published, parked };
[[nodiscard]] std::string_view to_string(OutboxStatus status);  ///< PENDING, PUBLISHED, PARKED

struct OutboxEvent {
    std::int64_t id = 0;   ///< order of arrival
    std::string event_id;  ///< a UUID, the same at every delivery: what consumers deduplicate by
    std::string type;
    Json payload;
    std::string aggregate;
    std::string subject;
    std::optional<std::string> traceparent;
    RunId run;  ///< of ctx.publish and of automatic events
    OutboxStatus status = OutboxStatus::pending;
    int attempts = 0;
    std::string last_error;
    Timestamp created_at;
    std::optional<Timestamp> visible_at;  ///< of a pending one: when it is tried (again)
    std::optional<Timestamp> published_at;
};

struct OutboxFilter {
    std::optional<OutboxStatus> status = {};
    std::optional<std::string> type = {};
    std::optional<std::string> aggregate = {};
    RunId run = {};
    std::int64_t after = 0;  ///< keyset paging, oldest first
    int limit = 100;
};

/// What became of one delivery.
struct SinkResult {
    enum class Kind { delivered, retry, reject };
    Kind kind = Kind::delivered;  ///< reject: trying again is useless, the event is parked
    std::string error = {};
    std::optional<Duration> retry_after = {};
};

/// Where events go. Called from the dispatcher's threads, for one aggregate one call at a time.
using Sink = std::function<SinkResult(const OutboxEvent&)>;

struct HttpSinkOptions {
    enum class Mode { structured, binary };  ///< CloudEvents 1.0 over HTTP
    Mode mode = Mode::structured;
    std::string source = "pawl";
    Duration timeout = 10s;  ///< of the whole call
    bool verify_tls = true;
    std::string ca_file = {};                         ///< default: the system's
    std::map<std::string, std::string> headers = {};  ///< e.g. Authorization; never logged
};
/// POSTs each event. 2xx: delivered; 408, 429 (Retry-After is obeyed), 5xx and connection errors:
/// tried again; other answers: parked. Throws invalid_url; backend_missing where this build has no
/// HTTP.
[[nodiscard]] Sink http_sink(const std::string& url, HttpSinkOptions options = {});
/// Appends each event as one line of CloudEvents JSON, flushed to disk before it counts as
/// delivered.
[[nodiscard]] Sink file_sink(const std::string& path, const std::string& source = "pawl");
/// The event as a CloudEvents 1.0 JSON object.
[[nodiscard]] Json to_cloud_event(const OutboxEvent& event, const std::string& source);

struct DispatcherOptions {
    int max_attempts = 10;  ///< then the event is parked
    Duration backoff_base = 1s;
    Duration backoff_cap = 5min;
    Duration lease = 60s;  ///< what a dispatcher that died holds is taken over after that
    int batch = 100;
    int concurrency = 4;  ///< aggregates at a time
    Duration poll_interval = 5s;
};

/// Delivers a store's outbox. Several, in any number of processes, are safe together.
class Dispatcher {
public:
    explicit Dispatcher(std::shared_ptr<runtime::OutboxDispatcher> implementation);
    void start();
    int dispatch_once();  ///< what is due now; returns how many were delivered
    void stop();          ///< idempotent; waits for deliveries under way
private:
    std::shared_ptr<runtime::OutboxDispatcher> implementation_;
};
[[nodiscard]] Dispatcher dispatcher(const Store& store, Sink sink, DispatcherOptions options = {});

}  // namespace pawl
