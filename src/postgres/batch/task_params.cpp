#include "postgres/batch/task_params.h"

#include "postgres/batch/trigger_params.h"

namespace pawl::postgres {

using seam::Attempt;
using seam::Write;

namespace {

// The leases and their tasks.
Params task_params(seam::Writes writes, const Indexes& indexes) {
    std::vector<std::int64_t> messages;
    std::vector<int> deliveries;
    std::vector<std::int64_t> runs;
    std::vector<std::string_view> steps;
    std::vector<int> task_indexes;
    for (const std::size_t index : indexes) {
        const Write& write = *writes[index];
        const TaskRef& task = *seam::task_of(write);
        messages.push_back(write.lease.message.value());
        deliveries.push_back(write.lease.delivery);
        runs.push_back(task.run.value());
        steps.emplace_back(task.step);
        task_indexes.push_back(task.task_index);
    }
    Params params;
    params.int8_array(messages).int4_array(deliveries).int8_array(runs);
    params.text_array(steps).int4_array(task_indexes);
    return params;
}

}  // namespace

Params complete_params(seam::Writes writes, const Indexes& indexes, Attempt attempt, Wake wake) {
    std::vector<std::string_view> outputs;
    for (const std::size_t index : indexes)
        outputs.emplace_back(writes[index]->as<seam::CompleteTask>().output);
    Params params = task_params(writes, indexes);
    params.text_array(outputs);
    params.boolean(attempt == Attempt::repeated).boolean(wake == Wake::in_transaction);
    return params;
}

Params failure_params(seam::Writes writes, const Indexes& indexes, Attempt attempt, Wake wake) {
    std::vector<std::string_view> errors;
    std::vector<std::optional<bool>> permanents;
    std::vector<std::optional<std::int64_t>> delays_ms;
    for (const std::size_t index : indexes) {
        const auto& failure = writes[index]->as<seam::FailTask>();
        errors.emplace_back(failure.error);
        permanents.emplace_back(failure.permanent);
        delays_ms.emplace_back();
        if (failure.retry_delay) delays_ms.back() = failure.retry_delay->count();
    }
    Params params = task_params(writes, indexes);
    params.text_array(errors).boolean_array(permanents).int8_array(delays_ms);
    params.boolean(attempt == Attempt::repeated).boolean(wake == Wake::in_transaction);
    return params;
}

Params delegation_params(seam::Writes writes, const Indexes& indexes, Attempt attempt, Wake wake) {
    Params params = task_params(writes, indexes);
    params.boolean(attempt == Attempt::repeated).boolean(wake == Wake::in_transaction);
    add_trigger_params(params, called_runs(writes, indexes));
    return params;
}

Params extend_task_params(seam::Writes writes, const Indexes& indexes) {
    std::vector<std::int64_t> leases_ms;
    for (const std::size_t index : indexes)
        leases_ms.push_back(writes[index]->as<seam::Extend>().lease.count());
    Params params = task_params(writes, indexes);
    params.int8_array(leases_ms);
    return params;
}

Params release_task_params(seam::Writes writes, const Indexes& indexes, Attempt attempt) {
    std::vector<std::int64_t> delays_ms;
    for (const std::size_t index : indexes)
        delays_ms.push_back(writes[index]->as<seam::Release>().delay.count());
    Params params = task_params(writes, indexes);
    params.int8_array(delays_ms).boolean(attempt == Attempt::repeated);
    return params;
}

Params hand_back_task_params(seam::Writes writes, const Indexes& indexes, Attempt attempt) {
    Params params = task_params(writes, indexes);
    params.boolean(attempt == Attempt::repeated);
    return params;
}

}  // namespace pawl::postgres
