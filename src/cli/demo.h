// What pawl demo and the worker processes it starts must agree on.
#pragma once

#include <pawl/store.h>

namespace pawl::cli::demo {

inline constexpr const char* queue_name = "demo";
inline constexpr const char* worker_command = "demo-worker";
inline constexpr int message_count = 60;
inline constexpr Duration handler_time = 50ms;
inline constexpr Duration lease = 2s;
inline constexpr Duration heartbeat = 500ms;

[[nodiscard]] inline ConnectOptions connect_options() {
    ConnectOptions options;
    options.lease = lease;
    options.heartbeat = heartbeat;
    return options;
}

}  // namespace pawl::cli::demo
