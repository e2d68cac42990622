// What the programs of this folder exit with where they are told to die.
#pragma once

namespace pawl::test {

constexpr int crashed = 86;

}  // namespace pawl::test
