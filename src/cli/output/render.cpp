#include "cli/output/render.h"

#include <fmt/format.h>

#include "cli/frame/value_parsers.h"
#include "cli/output/render_object.h"

namespace pawl::cli {

std::string json_object(std::initializer_list<std::pair<const char*, JsonValue>> fields) {
    auto object = Object::object();
    for (const auto& [key, value] : fields)
        std::visit([&, name = key](const auto& plain) { object[name] = plain; }, value);
    return dump(object);
}

std::string json_array(const std::vector<std::string>& elements) {
    return elements.empty() ? "[]" : fmt::format("[\n{}\n]", fmt::join(elements, ",\n"));
}

std::string with_field(std::string object, const char* key, const std::string& value) {
    object.pop_back();
    return fmt::format("{}{}\"{}\":{}}}", object, object == "{" ? "" : ",", key, value);
}

std::string to_json(const Message& message) {
    const Object object{
        {"id", message.id.value()},
        {"queue", message.queue},
        {"state", to_string(message.state)},
        {"delivery", message.delivery},
        {"strikes", message.strikes},
        {"attempts", message.attempts},
        {"priority", message.priority},
        {"enqueued_at", rfc3339(message.enqueued_at)},
        {"visible_at", rfc3339(message.visible_at)},
        {"worker_id", or_null(message.worker)},
        {"last_error", or_null(message.last_error)},
    };
    return with_field(dump(object), "payload", message.payload.text);
}

std::string to_json(const ArchivedMessage& message) {
    const Object object{
        {"id", message.id.value()},
        {"queue", message.queue},
        {"state", "archived"},
        {"dead", message.dead},
        {"reason", or_null(message.reason)},
        {"delivery", message.delivery},
        {"strikes", message.strikes},
        {"attempts", message.attempts},
        {"priority", message.priority},
        {"enqueued_at", rfc3339(message.enqueued_at)},
        {"archived_at", rfc3339(message.archived_at)},
        {"worker_id", or_null(message.worker)},
    };
    return with_field(dump(object), "payload", message.payload.text);
}

std::string to_json(const QueueInfo& queue) {
    return dump(Object{
        {"id", queue.id.value()},
        {"name", queue.name},
        {"kind", std::string(to_string(queue.kind))},
        {"paused", queue.paused},
        {"keep_archive", queue.keep_archive},
        {"lease_ms", or_null(queue.lease)},
        {"max_strikes", queue.max_strikes},
        {"max_attempts", queue.max_attempts},
        {"dead_letter_queue", or_null(queue.dead_letter_queue)},
        {"created_at", rfc3339(queue.created_at)},
    });
}

std::string to_json(const Tenant& tenant) {
    return dump({{"tenant", tenant.name}, {"schema_version", tenant.schema_version}});
}

std::string to_json(const QueueStats& stats) {
    const Object object{
        {"queue", stats.queue},
        {"paused", stats.paused},
        {"ready", stats.ready.value},
        {"waiting", stats.waiting.value},
        {"leased", stats.leased.value},
        {"archived", stats.archived.value},
        {"dead", stats.dead.value},
        {"oldest_ready_age_ms", or_null(stats.oldest_ready_age)},
        {"workers", stats.workers},
    };
    return dump_with_counts(
        object,
        {{"ready", stats.ready},
         {"waiting", stats.waiting},
         {"leased", stats.leased},
         {"archived", stats.archived},
         {"dead", stats.dead}}
    );
}

std::string to_json(const StoreInfo& info) {
    const ConnectOptions& options = info.options;
    return dump(Object{
        {"url", info.url},
        {"backend", info.backend},
        {"schema", info.schema},
        {"options",
         Object{
             {"lease_ms", options.lease.count()},
             {"heartbeat_ms", options.heartbeat.count()},
             {"connect_timeout_ms", options.connect_timeout.count()},
             {"retry_timeout_ms", options.retry_timeout.count()},
             {"call_timeout_ms", options.call_timeout.count()},
             {"pause_check_interval_ms", options.pause_check_interval.count()},
             {"max_payload_bytes", options.max_payload_bytes},
             {"prune_interval_ms", options.prune_interval.count()},
         }},
    });
}

std::string to_json(const StoreStats& stats) {
    const Object object{
        {"schema_version", stats.schema_version},
        {"queues", stats.queues},
        {"ready", stats.ready.value},
        {"waiting", stats.waiting.value},
        {"leased", stats.leased.value},
        {"archived", stats.archived.value},
        {"dead", stats.dead.value},
        {"workers_live", stats.workers_live},
        {"workers_lost", stats.workers_lost},
        {"workers_stopped", stats.workers_stopped.value},
    };
    return dump_with_counts(
        object,
        {{"ready", stats.ready},
         {"waiting", stats.waiting},
         {"leased", stats.leased},
         {"archived", stats.archived},
         {"dead", stats.dead},
         {"workers_stopped", stats.workers_stopped}}
    );
}

std::string to_json(const WorkerInfo& worker) {
    return dump(Object{
        {"id", worker.id.value()},
        {"name", worker.name},
        {"status", to_string(worker.status)},
        {"lost", worker.lost},
        {"host", worker.host},
        {"port", worker.port},
        {"pid", worker.pid},
        {"lease_ms", worker.lease.count()},
        {"subscriptions", worker.subscriptions},
        {"handlers", worker.handlers},
        {"started_at", rfc3339(worker.started_at)},
        {"heartbeat_at", rfc3339(worker.heartbeat_at)},
    });
}

std::string to_json(const std::string& text) {
    return dump(Object(text));
}

std::string to_json(const std::vector<std::string>& texts) {
    return dump(Object(texts));
}

std::string to_json(const std::vector<MessageId>& ids) {
    auto array = Object::array();
    for (const auto id : ids) array.push_back(id.value());
    return dump(array);
}

std::optional<std::string> json_problem(const std::string& text) {
    if (nlohmann::json::accept(text)) return std::nullopt;
    try {
        const auto parsed = nlohmann::json::parse(text);
    } catch (const nlohmann::json::exception& error) {
        // "[json.exception...] parse error at line 1, column 2: ...": the column is what helps
        const std::string what = error.what();
        const auto column = what.find("column ");
        return "not valid JSON: " + (column == std::string::npos ? what : what.substr(column));
    }
    return "not valid JSON";
}

}  // namespace pawl::cli
