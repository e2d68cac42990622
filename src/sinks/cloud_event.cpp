#include "sinks/cloud_event.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/check.h"

namespace pawl::inline v0 {

namespace {

// RFC 3339, such as 2026-01-31T12:00:00.123456Z.
std::string time_text(Timestamp time) {
    const auto days = std::chrono::floor<std::chrono::days>(time);
    const std::chrono::year_month_day date(days);
    const std::chrono::hh_mm_ss clock(time - days);
    return fmt::format(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z",
        static_cast<int>(date.year()),
        static_cast<unsigned>(date.month()),
        static_cast<unsigned>(date.day()),
        clock.hours().count(),
        clock.minutes().count(),
        clock.seconds().count(),
        clock.subseconds().count()
    );
}

std::string quoted(const std::string& text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// A stored payload that is not JSON must not become part of the envelope; it is written as a
// string.
std::string data_of(const Json& payload) {
    try {
        model::check_json(payload.text);
        return payload.text;
    } catch (const Error&) {
        return quoted(payload.text);
    }
}

}  // namespace

// The payload is copied byte for byte, so that no number is rounded.
Json to_cloud_event(const OutboxEvent& event, std::string_view event_source) {
    const std::string source(event_source);
    std::string text = "{";
    for (const auto& [name, value] : sinks::attributes(event, source))
        text += fmt::format("\"{}\":{},", name, quoted(value));
    return Json(
        text + R"("datacontenttype":"application/json","data":)" + data_of(event.payload) + "}"
    );
}

}  // namespace pawl::inline v0

std::vector<std::pair<std::string, std::string>> pawl::sinks::attributes(
    const OutboxEvent& event, const std::string& source
) {
    std::vector<std::pair<std::string, std::string>> all{
        {"specversion", "1.0"},
        {"id", event.event_id},
        {"source", source},
        {"type", event.type},
        {"time", time_text(event.created_at)},
    };
    if (!event.subject.empty()) all.emplace_back("subject", event.subject);
    if (event.traceparent) all.emplace_back("traceparent", *event.traceparent);
    return all;
}
