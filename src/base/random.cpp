#include "base/random.h"

#include <array>
#include <cstdint>
#include <fmt/format.h>
#include <random>

namespace pawl::base {

double random_fraction() {
    thread_local std::mt19937_64 generator{std::random_device{}()};
    return std::uniform_real_distribution<double>(0, 1)(generator);
}

// Each id is read from the system: a generator with a 32-bit seed would repeat ids in other
// processes.
std::string random_uuid() {
    thread_local std::random_device device;
    std::array<std::uint32_t, 4> bits{device(), device(), device(), device()};
    bits[1] = (bits[1] & 0xFFFF0FFFU) | 0x00004000U;  // version
    bits[2] = (bits[2] & 0x3FFFFFFFU) | 0x80000000U;  // variant
    return fmt::format(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:04x}{:08x}",
        bits[0],
        bits[1] >> 16U,
        bits[1] & 0xFFFFU,
        bits[2] >> 16U,
        bits[2] & 0xFFFFU,
        bits[3]
    );
}

}  // namespace pawl::base
