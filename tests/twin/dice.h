// The random choices of a twin test. The same seed produces the same choices on every machine.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace pawl::test::twin {

class Dice {
public:
    explicit Dice(std::uint32_t seed) : random_(seed) {}

    // 0 to limit - 1. Not std::uniform_int_distribution: its results depend on the library.
    int below(int limit) { return static_cast<int>(random_() % static_cast<std::uint32_t>(limit)); }
    int between(int low, int high) { return low + below(high - low + 1); }
    bool one_in(int n) { return below(n) == 0; }

    template <class T>
    const T& of(const std::vector<T>& values) {
        return values[static_cast<std::size_t>(below(static_cast<int>(values.size())))];
    }
    // An index into a list of that size, mostly of one of the last entries. 0 for an empty list.
    int index(std::size_t size) {
        if (size == 0) return 0;
        const int count = static_cast<int>(size);
        if (one_in(4)) return below(count);
        return count - 1 - below(count < 4 ? count : 4);
    }

private:
    std::mt19937 random_;
};

}  // namespace pawl::test::twin
