// 30s, 10ms: for the command line's own code.
#pragma once

#include <chrono>

namespace pawl::cli {

using namespace std::chrono_literals;

}  // namespace pawl::cli
