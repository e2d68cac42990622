#include "postgres/batch/run_params.h"

#include <algorithm>
#include <tuple>

#include "postgres/batch/trigger_params.h"

namespace pawl::postgres {

using seam::Attempt;
using seam::OutboxRecord;
using seam::StepRecord;
using seam::Write;

namespace {

using Text = std::optional<std::string_view>;

// What `value` says of each of the writes.
template <class Value>
auto column(std::span<const Write> writes, const Places& places, Value value) {
    std::vector<decltype(value(writes.front()))> values;
    values.reserve(places.size());
    for (const std::size_t place : places) values.push_back(value(writes[place]));
    return values;
}

// The same of their steps; nothing of a write that has none.
template <class Value>
auto step_column(std::span<const Write> writes, const Places& places, Value value) {
    using T = decltype(value(*writes.front().step));
    return column(writes, places, [&](const Write& write) -> T {
        return write.step ? value(*write.step) : T{};
    });
}

Text to_text(const std::optional<std::string>& text) {
    if (!text) return std::nullopt;
    return *text;
}

Text unless_empty(const std::string& text) {
    if (text.empty()) return std::nullopt;
    return text;
}

Params lease_params(std::span<const Write> writes, const Places& places, Attempt attempt) {
    Params params;
    params.int8_array(column(writes, places, [](const Write& w) { return w.lease.message.value(); })
    );
    params.int4_array(column(writes, places, [](const Write& w) { return w.lease.delivery; }));
    params.boolean(attempt == Attempt::repeated);
    return params;
}

Params lease_params(const Write& write, Attempt attempt) {
    Params params;
    params.int8(write.lease.message.value()).int4(write.lease.delivery);
    params.boolean(attempt == Attempt::repeated);
    return params;
}

void add_events(Params& params, std::span<const Write> writes, const Places& places) {
    const auto kinds = column(writes, places, [](const Write& w) { return unless_empty(w.event); });
    const auto data = column(writes, places, [](const Write& w) {
        return w.event.empty() ? std::nullopt : unless_empty(w.event_data);
    });
    params.text_array(kinds).text_array(data);
}

}  // namespace

void order_by_run(std::span<const Write> writes, Places& places) {
    std::ranges::stable_sort(places, {}, [&](std::size_t i) { return writes[i].lease.message; });
}

std::vector<Places> order_checkpoints(std::span<const Write> writes, const Places& places) {
    const auto key = [&](std::size_t i) {
        const StepRecord& step = *writes[i].step;
        return std::tuple(
            step.status != StepStatus::running, writes[i].lease.message, std::string_view(step.id)
        );
    };
    Places sorted = places;
    std::ranges::stable_sort(sorted, {}, key);
    std::vector<Places> running;
    std::vector<Places> results;
    std::size_t repeats = 0;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
        repeats = i > 0 && key(sorted[i]) == key(sorted[i - 1]) ? repeats + 1 : 0;
        auto& parts = std::get<0>(key(sorted[i])) ? results : running;
        if (parts.size() <= repeats) parts.emplace_back();
        parts[repeats].push_back(sorted[i]);
    }
    running.insert(running.end(), results.begin(), results.end());
    return running;
}

Params checkpoint_params(std::span<const Write> writes, const Places& places, Attempt attempt) {
    const auto of_steps = [&](auto value) { return step_column(writes, places, value); };
    Params params = lease_params(writes, places, attempt);
    params.text_array(of_steps([](const StepRecord& s) { return std::string_view(s.id); }));
    params.int4_array(of_steps([](const StepRecord& s) { return s.position; }));
    params.text_array(of_steps([](const StepRecord& s) { return to_string(s.status); }));
    params.int4_array(of_steps([](const StepRecord& s) { return s.attempt; }));
    params.text_array(of_steps([](const StepRecord& s) { return to_text(s.input); }));
    params.text_array(of_steps([](const StepRecord& s) { return to_text(s.output); }));
    params.text_array(of_steps([](const StepRecord& s) { return to_text(s.error); }));
    params.time_array(of_steps([](const StepRecord& s) { return s.wake_at; }));
    params.int8_array(of_steps([](const StepRecord& s) -> std::int64_t {
        return s.elapsed.count();
    }));
    return params;
}

Params checkpoint_params(const Write& write, Attempt attempt) {
    const StepRecord& step = *write.step;
    Params params = lease_params(write, attempt);
    params.text(step.id).int4(step.position).text(to_string(step.status)).int4(step.attempt);
    params.optional(to_text(step.input), &Params::text)
        .optional(to_text(step.output), &Params::text);
    params.optional(to_text(step.error), &Params::text).optional(step.wake_at, &Params::time);
    params.int8(step.elapsed.count());
    return params;
}

Params suspend_params(std::span<const Write> writes, const Places& places, Attempt attempt) {
    const auto of_writes = [&](auto value) { return column(writes, places, value); };
    const auto of_steps = [&](auto value) { return step_column(writes, places, value); };
    Params params = lease_params(writes, places, attempt);
    params.text_array(of_writes([](const Write& w) { return to_string(w.status); }));
    params.int8_array(of_writes([](const Write& w) -> std::int64_t { return w.delay.count(); }));
    params.time_array(of_writes([](const Write& w) { return w.until; }));
    params.int4_array(of_writes([](const Write& w) { return w.attempts; }));
    params.text_array(of_writes([](const Write& w) { return unless_empty(w.reason); }));
    add_events(params, writes, places);
    params.text_array(of_steps([](const StepRecord& s) { return unless_empty(s.id); }));
    params.int4_array(of_steps([](const StepRecord& s) { return s.position; }));
    params.text_array(of_steps([](const StepRecord& s) { return Text(to_string(s.status)); }));
    params.int4_array(of_steps([](const StepRecord& s) { return s.attempt; }));
    params.text_array(of_steps([](const StepRecord& s) { return to_text(s.input); }));
    params.text_array(of_steps([](const StepRecord& s) { return to_text(s.error); }));
    params.text_array(of_steps([](const StepRecord& s) { return unless_empty(s.pause_message); }));
    params.text_array(of_steps([](const StepRecord& s) { return unless_empty(s.pause_condition); })
    );
    params.time_array(of_steps([](const StepRecord& s) { return s.wake_at; }));
    params.boolean_array(of_steps([](const StepRecord& s) {
        return std::optional(s.wake_after_delay);
    }));
    params.int8_array(of_steps([](const StepRecord& s) -> std::int64_t {
        return s.elapsed.count();
    }));
    return params;
}

std::vector<const NewRun*> called_runs(std::span<const Write> writes, const Places& places) {
    return column(writes, places, [](const Write& w) { return w.call.get(); });
}

Params call_params(
    std::span<const Write> writes, const Places& places, Attempt attempt, Wake wake
) {
    const auto of_steps = [&](auto value) { return step_column(writes, places, value); };
    Params params = lease_params(writes, places, attempt);
    params.boolean(wake == Wake::in_transaction);
    params.int4_array(column(writes, places, [](const Write& w) { return w.attempts; }));
    add_events(params, writes, places);
    params.text_array(of_steps([](const StepRecord& s) { return std::string_view(s.id); }));
    params.int4_array(of_steps([](const StepRecord& s) { return s.position; }));
    params.int4_array(of_steps([](const StepRecord& s) { return s.attempt; }));
    params.text_array(of_steps([](const StepRecord& s) { return to_text(s.input); }));
    params.int8_array(of_steps([](const StepRecord& s) -> std::int64_t {
        return s.elapsed.count();
    }));
    add_trigger_params(params, called_runs(writes, places));
    return params;
}

Params finish_params(
    std::span<const Write> writes, const Places& places, Attempt attempt, Wake wake
) {
    Params params = lease_params(writes, places, attempt);
    params.text_array(column(writes, places, [](const Write& w) {
        return w.status == RunStatus::success ? Text(w.output) : std::nullopt;
    }));
    params.text_array(column(writes, places, [](const Write& w) {
        return w.status == RunStatus::success ? std::nullopt : Text(w.error);
    }));
    add_events(params, writes, places);
    params.boolean(wake == Wake::in_transaction);
    return params;
}

Params finish_params(const Write& write, Attempt attempt, Wake wake) {
    Params params = lease_params(write, attempt);
    params.text(write.output).boolean(wake == Wake::in_transaction);
    return params;
}

Places with_events(std::span<const Write> writes) {
    Places places;
    for (std::size_t i = 0; i < writes.size(); ++i) {
        if (writes[i].publish) places.push_back(i);
    }
    return places;
}

Places audited_checkpoints(std::span<const Write> writes) {
    Places places;
    for (std::size_t i = 0; i < writes.size(); ++i) {
        if (writes[i].kind == seam::WriteKind::checkpoint && !writes[i].event.empty())
            places.push_back(i);
    }
    return places;
}

Params step_event_params(std::span<const Write> writes, const Places& places, Attempt attempt) {
    const auto of_steps = [&](auto value) { return step_column(writes, places, value); };
    Params params = lease_params(writes, places, attempt);
    params.text_array(of_steps([](const StepRecord& s) { return std::string_view(s.id); }));
    params.text_array(of_steps([](const StepRecord& s) { return to_string(s.status); }));
    add_events(params, writes, places);
    return params;
}

// Without a wake-up: that is sent after the commit.
Params event_params(std::span<const Write> writes, const Places& places) {
    const auto of_events = [&](auto value) {
        return column(writes, places, [&](const Write& w) { return value(*w.publish); });
    };
    Params params;
    params.int8_array(column(writes, places, [](const Write& w) { return w.lease.message.value(); })
    );
    params.int4_array(column(writes, places, [](const Write& w) { return w.lease.delivery; }));
    params.text_array(step_column(writes, places, [](const StepRecord& s) {
        return std::string_view(s.id);
    }));
    params.text_array(of_events([](const OutboxRecord& r) { return std::string_view(r.event_id); })
    );
    params.text_array(of_events([](const OutboxRecord& r) { return std::string_view(r.event.type); }
    ));
    params.text_array(of_events([](const OutboxRecord& r) {
        return std::string_view(r.event.payload.text);
    }));
    params.text_array(of_events([](const OutboxRecord& r) {
        return std::string_view(r.event.aggregate);
    }));
    params.text_array(of_events([](const OutboxRecord& r) {
        return std::string_view(r.event.subject);
    }));
    params.text_array(of_events([](const OutboxRecord& r) { return to_text(r.event.traceparent); })
    );
    params.boolean(false);
    return params;
}

}  // namespace pawl::postgres
