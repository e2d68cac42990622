// Shared by pawl demo and its worker processes: the workflow, and the lines that a worker prints.
#pragma once

#include <array>
#include <pawl/json.h>
#include <pawl/store.h>
#include <pawl/workflow.h>
#include <string>
#include <string_view>

#include "cli/frame/literals.h"

namespace pawl::cli::demo {

struct Order {
    std::string item;
    int quantity = 0;
};
struct Shipment {
    std::string item;
    std::string reservation;
    std::string payment;
    std::string parcel;
    std::string tracking;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Order, item, quantity)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Shipment, item, reservation, payment, parcel, tracking)

inline constexpr Workflow<Order, Shipment> ship_order{"ship_order"};
inline constexpr std::array<std::string_view, 4> steps{"reserve", "charge", "pack", "ship"};
inline constexpr std::string_view deadly_step = steps[2];

// What a worker prints: a step with one of these words, or `ready` and `returned` alone.
inline constexpr std::string_view ready = "ready";        // it has registered
inline constexpr std::string_view runs = "runs";          // its body has begun
inline constexpr std::string_view recorded = "recorded";  // its result was recorded before
inline constexpr std::string_view returned = "returned";  // the workflow's function has returned

inline constexpr const char* worker_command = "demo-worker";
inline constexpr Duration step_time = 60ms;
inline constexpr Duration lease = 1s;
inline constexpr Duration heartbeat = 250ms;

[[nodiscard]] inline ConnectOptions connect_options() {
    ConnectOptions options;
    options.lease = lease;
    options.heartbeat = heartbeat;
    return options;
}

}  // namespace pawl::cli::demo
