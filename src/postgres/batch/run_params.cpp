#include "postgres/batch/run_params.h"

#include <algorithm>
#include <tuple>

#include "postgres/batch/trigger_params.h"

namespace pawl::postgres {

using seam::Attempt;
using seam::Checkpoint;
using seam::Finish;
using seam::OutboxRecord;
using seam::StepWrite;
using seam::Suspend;
using seam::Write;

namespace {

using Text = std::optional<std::string_view>;

// The value of each write.
template <class Value>
auto column(seam::Writes writes, const Indexes& indexes, Value value) {
    std::vector<decltype(value(*writes.front()))> values;
    values.reserve(indexes.size());
    for (const std::size_t index : indexes) values.push_back(value(*writes[index]));
    return values;
}

// The same for their actions, which are all of one kind.
template <class Action, class Value>
auto column_of(seam::Writes writes, const Indexes& indexes, Value value) {
    return column(writes, indexes, [&](const Write& write) { return value(write.as<Action>()); });
}

// The same for their steps; empty for a write without a step.
template <class Value>
auto step_column(seam::Writes writes, const Indexes& indexes, Value value) {
    using T = decltype(value(StepWrite{}));
    return column(writes, indexes, [&](const Write& write) -> T {
        const StepWrite* const step = seam::step_of(write);
        return step != nullptr ? value(*step) : T{};
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

Params lease_params(seam::Writes writes, const Indexes& indexes, Attempt attempt) {
    Params params;
    params.int8_array(column(writes, indexes, [](const Write& w) {
        return w.lease.message.value();
    }));
    params.int4_array(column(writes, indexes, [](const Write& w) { return w.lease.delivery; }));
    params.boolean(attempt == Attempt::repeated);
    return params;
}

Params lease_params(const Write& write, Attempt attempt) {
    Params params;
    params.int8(write.lease.message.value()).int4(write.lease.delivery);
    params.boolean(attempt == Attempt::repeated);
    return params;
}

void add_events(Params& params, seam::Writes writes, const Indexes& indexes) {
    const auto kinds = column(writes, indexes, [](const Write& w) {
        return w.event ? Text(w.event->kind) : std::nullopt;
    });
    const auto data = column(writes, indexes, [](const Write& w) {
        return w.event ? Text(w.event->data) : std::nullopt;
    });
    params.text_array(kinds).text_array(data);
}

}  // namespace

void order_by_run(seam::Writes writes, Indexes& indexes) {
    std::ranges::stable_sort(indexes, {}, [&](std::size_t i) { return writes[i]->lease.message; });
}

std::vector<Indexes> order_checkpoints(seam::Writes writes, const Indexes& indexes) {
    const auto key = [&](std::size_t i) {
        const StepWrite& step = *writes[i]->as<Checkpoint>().step;
        return std::tuple(
            step.status != StepStatus::running, writes[i]->lease.message, std::string_view(step.id)
        );
    };
    Indexes sorted = indexes;
    std::ranges::stable_sort(sorted, {}, key);
    std::vector<Indexes> running;
    std::vector<Indexes> results;
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

Params checkpoint_params(
    seam::Writes writes, const Indexes& indexes, Attempt attempt, SteadyTime sent_at
) {
    const auto of_steps = [&](auto value) { return step_column(writes, indexes, value); };
    Params params = lease_params(writes, indexes, attempt);
    params.text_array(of_steps([](const StepWrite& s) { return std::string_view(s.id); }));
    params.int4_array(of_steps([](const StepWrite& s) { return s.position; }));
    params.text_array(of_steps([](const StepWrite& s) { return to_string(s.status); }));
    params.int4_array(of_steps([](const StepWrite& s) { return s.attempt; }));
    params.text_array(of_steps([](const StepWrite& s) { return to_text(s.input); }));
    params.text_array(of_steps([](const StepWrite& s) { return to_text(s.output); }));
    params.text_array(of_steps([](const StepWrite& s) { return to_text(s.error); }));
    params.time_array(of_steps([](const StepWrite& s) { return s.wake_at; }));
    params.int8_array(of_steps([=](const StepWrite& s) -> std::int64_t {
        return s.elapsed_at(sent_at).count();
    }));
    return params;
}

Params checkpoint_params(const Write& write, Attempt attempt, SteadyTime sent_at) {
    const StepWrite& step = *write.as<Checkpoint>().step;
    Params params = lease_params(write, attempt);
    params.text(step.id).int4(step.position).text(to_string(step.status)).int4(step.attempt);
    params.optional(to_text(step.input), &Params::text)
        .optional(to_text(step.output), &Params::text);
    params.optional(to_text(step.error), &Params::text).optional(step.wake_at, &Params::time);
    params.int8(step.elapsed_at(sent_at).count());
    return params;
}

Params suspend_params(
    seam::Writes writes, const Indexes& indexes, Attempt attempt, SteadyTime sent_at
) {
    const auto of_writes = [&](auto value) { return column_of<Suspend>(writes, indexes, value); };
    const auto of_steps = [&](auto value) { return step_column(writes, indexes, value); };
    Params params = lease_params(writes, indexes, attempt);
    params.text_array(of_writes([](const Suspend& s) { return to_string(s.status); }));
    params.int8_array(of_writes([](const Suspend& s) -> std::int64_t { return s.delay.count(); }));
    params.time_array(of_writes([](const Suspend& s) { return s.until; }));
    params.int4_array(of_writes([](const Suspend& s) { return s.attempts; }));
    params.text_array(of_writes([](const Suspend& s) { return unless_empty(s.last_error); }));
    add_events(params, writes, indexes);
    params.text_array(of_steps([](const StepWrite& s) { return unless_empty(s.id); }));
    params.int4_array(of_steps([](const StepWrite& s) { return s.position; }));
    params.text_array(of_steps([](const StepWrite& s) { return Text(to_string(s.status)); }));
    params.int4_array(of_steps([](const StepWrite& s) { return s.attempt; }));
    params.text_array(of_steps([](const StepWrite& s) { return to_text(s.input); }));
    params.text_array(of_steps([](const StepWrite& s) { return to_text(s.error); }));
    params.text_array(of_steps([](const StepWrite& s) { return unless_empty(s.pause_message); }));
    params.text_array(of_steps([](const StepWrite& s) { return unless_empty(s.pause_condition); }));
    params.time_array(of_steps([](const StepWrite& s) { return s.wake_at; }));
    params.boolean_array(of_steps([](const StepWrite& s) {
        return std::optional(s.wake_after_delay);
    }));
    params.int8_array(of_steps([=](const StepWrite& s) -> std::int64_t {
        return s.elapsed_at(sent_at).count();
    }));
    return params;
}

std::vector<const NewRun*> called_runs(seam::Writes writes, const Indexes& indexes) {
    return column(writes, indexes, [](const Write& w) { return seam::called_run(w); });
}

Params call_params(
    seam::Writes writes, const Indexes& indexes, Attempt attempt, Wake wake, SteadyTime sent_at
) {
    const auto of_steps = [&](auto value) { return step_column(writes, indexes, value); };
    Params params = lease_params(writes, indexes, attempt);
    params.boolean(wake == Wake::in_transaction);
    params.int4_array(column_of<Suspend>(writes, indexes, [](const Suspend& s) {
        return s.attempts;
    }));
    add_events(params, writes, indexes);
    params.text_array(of_steps([](const StepWrite& s) { return std::string_view(s.id); }));
    params.int4_array(of_steps([](const StepWrite& s) { return s.position; }));
    params.int4_array(of_steps([](const StepWrite& s) { return s.attempt; }));
    params.text_array(of_steps([](const StepWrite& s) { return to_text(s.input); }));
    params.int8_array(of_steps([=](const StepWrite& s) -> std::int64_t {
        return s.elapsed_at(sent_at).count();
    }));
    add_trigger_params(params, called_runs(writes, indexes));
    return params;
}

Params finish_params(seam::Writes writes, const Indexes& indexes, Attempt attempt, Wake wake) {
    Params params = lease_params(writes, indexes, attempt);
    params.text_array(column_of<Finish>(writes, indexes, [](const Finish& f) {
        return f.status == RunStatus::success ? Text(f.result) : std::nullopt;
    }));
    params.text_array(column_of<Finish>(writes, indexes, [](const Finish& f) {
        return f.status == RunStatus::success ? std::nullopt : Text(f.result);
    }));
    add_events(params, writes, indexes);
    params.boolean(wake == Wake::in_transaction);
    return params;
}

Params finish_params(const Write& write, Attempt attempt, Wake wake) {
    Params params = lease_params(write, attempt);
    params.text(write.as<Finish>().result).boolean(wake == Wake::in_transaction);
    return params;
}

Indexes publishing_checkpoints(seam::Writes writes) {
    Indexes indexes;
    for (std::size_t i = 0; i < writes.size(); ++i) {
        if (writes[i]->is<Checkpoint>() && writes[i]->as<Checkpoint>().publish)
            indexes.push_back(i);
    }
    return indexes;
}

Indexes audited_checkpoints(seam::Writes writes) {
    Indexes indexes;
    for (std::size_t i = 0; i < writes.size(); ++i) {
        if (writes[i]->is<Checkpoint>() && writes[i]->event) indexes.push_back(i);
    }
    return indexes;
}

Params step_event_params(seam::Writes writes, const Indexes& indexes, Attempt attempt) {
    const auto of_steps = [&](auto value) { return step_column(writes, indexes, value); };
    Params params = lease_params(writes, indexes, attempt);
    params.text_array(of_steps([](const StepWrite& s) { return std::string_view(s.id); }));
    params.text_array(of_steps([](const StepWrite& s) { return to_string(s.status); }));
    add_events(params, writes, indexes);
    return params;
}

// Does not wake the dispatcher: that is done after the commit.
Params event_params(seam::Writes writes, const Indexes& indexes) {
    const auto of_events = [&](auto value) {
        return column_of<Checkpoint>(writes, indexes, [&](const Checkpoint& c) {
            return value(*c.publish);
        });
    };
    Params params;
    params.int8_array(column(writes, indexes, [](const Write& w) {
        return w.lease.message.value();
    }));
    params.int4_array(column(writes, indexes, [](const Write& w) { return w.lease.delivery; }));
    params.text_array(step_column(writes, indexes, [](const StepWrite& s) {
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
