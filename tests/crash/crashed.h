// The exit code of the programs in this folder at their fail point.
#pragma once

namespace pawl::test {

constexpr int crashed = 86;

}  // namespace pawl::test
