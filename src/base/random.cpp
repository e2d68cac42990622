#include "base/random.h"

#include <random>

namespace pawl::base {

double random_fraction() {
    thread_local std::mt19937_64 generator{std::random_device{}()};
    return std::uniform_real_distribution<double>(0, 1)(generator);
}

}  // namespace pawl::base
