#include "model/check_outbox.h"

#include <algorithm>
#include <fmt/format.h>
#include <string_view>

#include "model/check.h"
#include "model/check_run.h"

namespace pawl::model {

namespace {

constexpr std::size_t max_type_bytes = 255;
constexpr std::size_t max_name_bytes = 1024;

// W3C trace context: version-trace-parent-flags, as 00-0af7...9c-b7ad6b7169203331-01.
bool is_traceparent(std::string_view text) {
    constexpr std::string_view pattern = "hh-hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh-hhhhhhhhhhhhhhhh-hh";
    const auto fits = [](char wanted, char c) {
        if (wanted == '-') return c == '-';
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    };
    return std::ranges::equal(pattern, text, fits);
}

}  // namespace

void check_outbox_event(const NewOutboxEvent& event, std::size_t max_payload_bytes) {
    check_text("an event's type", event.type, max_type_bytes);
    check_size("the payload", event.payload.text.size(), max_payload_bytes);
    check_json(event.payload.text);
    if (!event.aggregate.empty()) check_text("an aggregate", event.aggregate, max_name_bytes);
    if (!event.subject.empty()) check_text("a subject", event.subject, max_name_bytes);
    if (event.traceparent && !is_traceparent(*event.traceparent))
        refuse(
            "a traceparent is 00-<32 hexadecimal digits>-<16>-<2>, in lower case: see W3C trace "
            "context"
        );
}

void check_outbox_filter(const OutboxFilter& filter) {
    if (filter.limit < 1 || filter.limit > 10'000) refuse("a page's limit must be 1 to 10000");
}

void check_dispatcher_options(const DispatcherOptions& options) {
    const auto within = [](std::string_view what, int value, int most) {
        if (value < 1 || value > most)
            refuse(fmt::format("dispatcher: {} must be 1 to {}", what, most));
    };
    within("max_attempts", options.max_attempts, 1'000'000);
    within("batch", options.batch, 10'000);
    within("concurrency", options.concurrency, 1'000);
    if (options.backoff_base < Duration::zero() || options.backoff_cap < options.backoff_base)
        refuse("dispatcher: backoff: 0 <= base <= cap must hold");
    check_delay("dispatcher: backoff_cap", options.backoff_cap);
    if (options.lease < 10ms) refuse("dispatcher: lease must be at least 10 ms");
    check_delay("dispatcher: lease", options.lease);
    if (options.poll_interval < 10ms) refuse("dispatcher: poll_interval must be at least 10 ms");
}

}  // namespace pawl::model
