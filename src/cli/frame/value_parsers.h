// Converts words of the command line to values, and values to text.
#pragma once

#include <cstdint>
#include <optional>
#include <pawl/flow.h>
#include <pawl/message.h>
#include <pawl/outbox.h>
#include <pawl/retention.h>
#include <pawl/run.h>
#include <pawl/schedule.h>
#include <pawl/types.h>
#include <pawl/workflow.h>
#include <stdexcept>
#include <string>
#include <string_view>

#include "cli/output/view.h"

namespace pawl::cli {

// Each throws std::invalid_argument with a sentence that says what is accepted. Upper and lower
// case are the same in words.
void parse_value(const std::string& text, std::string& value);
void parse_value(const std::string& text, int& value);
void parse_value(const std::string& text, std::int64_t& value);
void parse_value(const std::string& text, Duration& value);   // 500ms, 10s, 5m, 2h, 1d
void parse_value(const std::string& text, Timestamp& value);  // RFC 3339
void parse_value(const std::string& text, MessageState& value);
void parse_value(const std::string& text, RunStatus& value);
void parse_value(const std::string& text, AuditLevel& value);
void parse_value(const std::string& text, WhenUnmet& value);
void parse_value(const std::string& text, WhenExhausted& value);
void parse_value(const std::string& text, Json& value);  // any text: the store says what is wrong
void parse_value(const std::string& text, PublishLevel& value);
void parse_value(const std::string& text, OutboxStatus& value);
void parse_value(const std::string& text, Overlap& value);
void parse_value(const std::string& text, CatchUp& value);
void parse_value(const std::string& text, RetentionKind& value);
void parse_value(const std::string& text, ColorMode& value);

/// What a duration without a sign means as a time.
enum class Bare { ago, from_now };
/// RFC 3339, "now", or a distance from now: 1h, +1h, -1h. Throws std::invalid_argument.
[[nodiscard]] Timestamp parse_time(const std::string& text, Bare bare, Timestamp now);

template <class Tag>
void parse_value(const std::string& text, Id<Tag>& value) {
    std::int64_t number = 0;
    parse_value(text, number);
    if (number < 0) throw std::invalid_argument("an id is a positive number");
    value = Id<Tag>(number);
}

template <class T>
void parse_value(const std::string& text, std::optional<T>& value) {
    T parsed{};
    parse_value(text, parsed);
    value = parsed;
}

// What help prints for a value of that type; with '|', a list of words to choose from.
inline std::string type_name(const std::string&) {
    return "TEXT";
}
inline std::string type_name(int) {
    return "N";
}
inline std::string type_name(Duration) {
    return "DURATION";
}
inline std::string type_name(Timestamp) {
    return "TIME";
}
inline std::string type_name(MessageState) {
    return "ready|waiting|leased";
}
inline std::string type_name(RunStatus) {
    return "QUEUED|RUNNING|PAUSED|SUCCESS|ERROR|CANCELLED";
}
inline std::string type_name(AuditLevel) {
    return "off|exceptions|all";
}
inline std::string type_name(WhenUnmet) {
    return "skip|skip-cascade|fail";
}
inline std::string type_name(WhenExhausted) {
    return "fail|skip|skip-cascade";
}
inline std::string type_name(const Json&) {
    return "JSON";
}
inline std::string type_name(PublishLevel) {
    return "off|alerts|ends";
}
inline std::string type_name(OutboxStatus) {
    return "PENDING|PUBLISHED|PARKED";
}
inline std::string type_name(std::int64_t) {
    return "ID";
}
inline std::string type_name(Overlap) {
    return "allow|skip|queue-one";
}
inline std::string type_name(CatchUp) {
    return "none|last|all";
}
inline std::string type_name(RetentionKind) {
    return "success|failed|events|archive|dead-letters|outbox|deleted|workers";
}
inline std::string type_name(ColorMode) {
    return "auto|always|never";
}
template <class Tag>
std::string type_name(Id<Tag>) {
    return "ID";
}
template <class T>
std::string type_name(const std::optional<T>&) {
    return type_name(T{});
}

[[nodiscard]] std::string rfc3339(Timestamp time);          // 2026-01-31T12:00:00.123456Z
[[nodiscard]] std::string rfc3339_seconds(Timestamp time);  // 2026-01-31T12:00:00Z, for people
/// "1 message", "2 messages"
[[nodiscard]] std::string counted(std::int64_t number, std::string_view noun);
[[nodiscard]] std::string short_duration(Duration duration
);  // 1d2h, 5m, 1.5s: the two largest units

}  // namespace pawl::cli
