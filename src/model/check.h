// Checks of values before they reach a store. Each throws an Error that says what is wrong and how
// to fix it.
#pragma once

#include <cstddef>
#include <optional>
#include <pawl/error.h>
#include <pawl/export.h>
#include <pawl/message.h>
#include <pawl/queue.h>
#include <string>
#include <string_view>

namespace pawl::model {

[[noreturn]] void refuse(ErrorCode code, const std::string& message);
[[noreturn]] void refuse(const std::string& message);  // as invalid_argument
// `kind`: "queue", "workflow", "schedule".
void check_name(std::string_view kind, std::string_view name);
void check_queue_options(std::string_view name, const QueueOptions& options);
void check_schema_name(std::string_view name);
// Text that both stores accept: UTF-8 without zero bytes. Each store checks the texts that it binds
// to a statement; names in lookups are checked nowhere else.
constexpr const char* not_text = "text must be UTF-8 without zero bytes";
[[nodiscard]] bool is_text(std::string_view text);
void check_parameter(std::string_view text);
// Both stores accept the same values: valid JSON in valid UTF-8, not nested deeper than 512 levels.
void check_json(std::string_view text);
void check_new_message(const NewMessage& message, std::size_t max_payload_bytes);
// Options that messages and runs share: their place in the queue.
void check_place(int priority, Duration delay, const std::optional<Timestamp>& at);
void check_size(std::string_view what, std::size_t bytes, std::size_t max_bytes);
void check_page_limit(int limit);
// Converts any bytes to text that both stores accept: valid UTF-8, no zero bytes, at most 8 KiB.
[[nodiscard]] std::string storable_text(std::string_view text);
// Exported for pawl::http.
PAWL_EXPORT void check_delay(std::string_view what, Duration delay);
void check_positive(std::string_view what, Duration time);  // and not longer than a delay
[[nodiscard]] bool is_storable(Timestamp time);             // a year that both backends store
void check_time(const Timestamp& time);

}  // namespace pawl::model
