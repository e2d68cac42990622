#include "postgres/batch/task_params.h"

#include "postgres/batch/trigger_params.h"

namespace pawl::postgres {

using seam::Attempt;
using seam::Write;
using seam::WriteKind;

namespace {

// Which leases, and which tasks they are.
Params task_params(std::span<const Write> writes, const Places& places) {
    std::vector<std::int64_t> messages;
    std::vector<int> deliveries;
    std::vector<std::int64_t> runs;
    std::vector<std::string_view> steps;
    std::vector<int> indexes;
    for (const std::size_t place : places) {
        const Write& write = writes[place];
        messages.push_back(write.lease.message.value());
        deliveries.push_back(write.lease.delivery);
        runs.push_back(write.task->run.value());
        steps.emplace_back(write.task->step);
        indexes.push_back(write.task->task_index);
    }
    Params params;
    params.int8_array(messages).int4_array(deliveries).int8_array(runs);
    params.text_array(steps).int4_array(indexes);
    return params;
}

}  // namespace

Params complete_params(
    std::span<const Write> writes, const Places& places, Attempt attempt, Wake wake
) {
    std::vector<std::string_view> outputs;
    for (const std::size_t place : places) outputs.emplace_back(writes[place].output);
    Params params = task_params(writes, places);
    params.text_array(outputs);
    params.boolean(attempt == Attempt::repeated).boolean(wake == Wake::in_transaction);
    return params;
}

Params failure_params(
    std::span<const Write> writes, const Places& places, Attempt attempt, Wake wake
) {
    std::vector<std::string_view> errors;
    std::vector<std::optional<bool>> permanents;
    std::vector<std::optional<std::int64_t>> delays_ms;
    for (const std::size_t place : places) {
        const Write& write = writes[place];
        errors.emplace_back(write.reason);
        permanents.emplace_back(write.permanent);
        delays_ms.emplace_back();
        if (write.retry_delay) delays_ms.back() = write.retry_delay->count();
    }
    Params params = task_params(writes, places);
    params.text_array(errors).boolean_array(permanents).int8_array(delays_ms);
    params.boolean(attempt == Attempt::repeated).boolean(wake == Wake::in_transaction);
    return params;
}

Params delegation_params(
    std::span<const Write> writes, const Places& places, Attempt attempt, Wake wake
) {
    Params params = task_params(writes, places);
    params.boolean(attempt == Attempt::repeated).boolean(wake == Wake::in_transaction);
    add_trigger_params(params, called_runs(writes, places));
    return params;
}

Params task_lease_params(
    WriteKind kind, std::span<const Write> writes, const Places& places, Attempt attempt
) {
    std::vector<std::int64_t> delays_ms;
    for (const std::size_t place : places) delays_ms.push_back(writes[place].delay.count());
    Params params = task_params(writes, places);
    if (kind != WriteKind::hand_back) params.int8_array(delays_ms);
    if (kind != WriteKind::extend) params.boolean(attempt == Attempt::repeated);
    return params;
}

}  // namespace pawl::postgres
