#include "postgres/batch/trigger_params.h"

namespace pawl::postgres {

namespace {

struct Tags {
    std::vector<int> places;
    std::vector<std::string_view> tags;
};

Tags tags_of(std::span<const NewRun* const> runs) {
    Tags all;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        for (const std::string& tag : runs[i]->options.tags) {
            all.places.push_back(static_cast<int>(i) + 1);
            all.tags.emplace_back(tag);
        }
    }
    return all;
}

std::optional<std::int64_t> parent_of(const NewRun& run) {
    if (!run.options.parent) return std::nullopt;
    return run.options.parent.value();
}

std::optional<std::string_view> key_of(const NewRun& run) {
    if (!run.options.idempotency_key) return std::nullopt;
    return *run.options.idempotency_key;
}

}  // namespace

void add_trigger_params(Params& params, std::span<const NewRun* const> runs) {
    std::vector<std::string_view> workflows;
    std::vector<std::string_view> inputs;
    std::vector<int> priorities;
    std::vector<std::int64_t> delays_ms;
    std::vector<std::optional<Timestamp>> ats;
    std::vector<std::optional<std::string_view>> keys;
    std::vector<std::optional<int>> max_attempts;
    std::vector<std::optional<std::int64_t>> parents;
    for (const NewRun* run : runs) {
        workflows.emplace_back(run->workflow);
        inputs.emplace_back(run->input.text);
        priorities.push_back(run->options.priority);
        delays_ms.push_back(run->options.delay.count());
        ats.push_back(run->options.at);
        keys.push_back(key_of(*run));
        max_attempts.push_back(run->options.max_attempts);
        parents.push_back(parent_of(*run));
    }
    const Tags tags = tags_of(runs);
    params.text_array(workflows).text_array(inputs).int4_array(priorities).int8_array(delays_ms);
    params.time_array(ats).text_array(keys).int4_array(max_attempts).int8_array(parents);
    params.int4_array(tags.places).text_array(tags.tags);
}

bool is_plain(const NewRun& run) {
    return run.options.delay == Duration::zero() && !run.options.at &&
           !run.options.idempotency_key && run.options.tags.empty();
}

void add_plain_trigger_params(Params& params, const NewRun& run) {
    params.text(run.workflow).text(run.input.text).int4(run.options.priority);
    params.optional(run.options.max_attempts, &Params::int4)
        .optional(parent_of(run), &Params::int8);
}

}  // namespace pawl::postgres
