// Time literals (30s, 10ms) for the library's sources. Public headers bring none into scope.
#pragma once

#include <chrono>

namespace pawl {

using namespace std::chrono_literals;

}  // namespace pawl
