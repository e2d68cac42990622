// The worker's state machine, as data. SQL enforces the same table (worker_transitions); a test
// compares the two.
#pragma once

#include <array>
#include <optional>
#include <pawl/worker_info.h>

namespace pawl::model {

struct WorkerTransition {
    WorkerStatus from;
    WorkerEvent event;
    WorkerStatus to;
};

inline constexpr std::array worker_transitions{
    WorkerTransition{WorkerStatus::ready, WorkerEvent::start_polling, WorkerStatus::polling},
    WorkerTransition{WorkerStatus::ready, WorkerEvent::suspend, WorkerStatus::suspended},
    WorkerTransition{WorkerStatus::ready, WorkerEvent::stop, WorkerStatus::stopped},
    WorkerTransition{WorkerStatus::polling, WorkerEvent::start_polling, WorkerStatus::polling},
    WorkerTransition{WorkerStatus::polling, WorkerEvent::poll_done, WorkerStatus::ready},
    WorkerTransition{WorkerStatus::polling, WorkerEvent::interrupt, WorkerStatus::interrupted},
    WorkerTransition{WorkerStatus::polling, WorkerEvent::suspend, WorkerStatus::suspended},
    WorkerTransition{WorkerStatus::polling, WorkerEvent::stop, WorkerStatus::stopped},
    WorkerTransition{WorkerStatus::interrupted, WorkerEvent::suspend, WorkerStatus::suspended},
    WorkerTransition{WorkerStatus::interrupted, WorkerEvent::stop, WorkerStatus::stopped},
    WorkerTransition{WorkerStatus::suspended, WorkerEvent::resume, WorkerStatus::ready},
    WorkerTransition{WorkerStatus::suspended, WorkerEvent::stop, WorkerStatus::stopped},
};

// Events that operators send; the others are sent by the worker itself.
[[nodiscard]] constexpr bool is_by_operator(WorkerEvent event) {
    return event != WorkerEvent::start_polling && event != WorkerEvent::poll_done;
}

// Returns nullopt if the transition is not allowed.
[[nodiscard]] constexpr std::optional<WorkerStatus> next_status(
    WorkerStatus from, WorkerEvent event
) {
    for (const auto& transition : worker_transitions) {
        if (transition.from == from && transition.event == event) return transition.to;
    }
    return std::nullopt;
}

}  // namespace pawl::model
