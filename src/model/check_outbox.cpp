#include "model/check_outbox.h"

#include <algorithm>
#include <fmt/format.h>
#include <string_view>

#include "model/check.h"
#include "model/check_run.h"
#include "model/rules.h"
#include "model/texts.h"

namespace pawl::model {

namespace {

// W3C trace context: version-trace-parent-flags, such as 00-0af7...9c-b7ad6b7169203331-01.
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
    check_text("an event's type", event.type, rules::max_event_type_bytes);
    check_size("the payload", event.payload.text.size(), max_payload_bytes);
    check_json(event.payload.text);
    if (!event.aggregate.empty())
        check_text("an aggregate", event.aggregate, rules::max_aggregate_bytes);
    if (!event.subject.empty()) check_text("a subject", event.subject, rules::max_aggregate_bytes);
    if (event.traceparent && !is_traceparent(*event.traceparent))
        refuse(std::string(texts::traceparent));
}

void check_outbox_filter(const OutboxFilter& filter) {
    check_page_limit(filter.limit);
}

void check_dispatcher_options(const DispatcherOptions& options) {
    const auto within = [](std::string_view what, int value, int most) {
        if (value < 1 || value > most)
            refuse(fmt::format("dispatcher: {} must be 1 to {}", what, most));
    };
    within("max_attempts", options.max_attempts, rules::max_attempts);
    within("batch", options.batch, rules::max_batch);
    within("concurrency", options.concurrency, 1'000);
    if (options.backoff_base < Duration::zero() || options.backoff_cap < options.backoff_base)
        refuse("dispatcher: backoff_base must be 0 to backoff_cap");
    check_delay("dispatcher: backoff_cap", options.backoff_cap);
    if (options.lease < 10ms) refuse("dispatcher: lease must be at least 10 ms");
    check_delay("dispatcher: lease", options.lease);
    if (options.poll_interval < 10ms) refuse("dispatcher: poll_interval must be at least 10 ms");
}

}  // namespace pawl::model
