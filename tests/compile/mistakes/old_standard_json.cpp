// error: pawl needs C++20: compile with -std=c++20
// standard: c++17
#include <pawl/json.h>

int main() {
    auto store = pawl::connect("sqlite::memory:");
    store.install();
}
