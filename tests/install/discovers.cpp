// Finds the workflow of a static library and runs it.
#include <iostream>
#include <pawl/json.h>
#include <pawl/pawl.h>

int main() {
    if (pawl::discover_workflows("numbers.").size() != 1) {
        std::cerr << "the workflow of the static library was not linked\n";
        return 1;
    }
    const pawl::Store store = pawl::connect("sqlite::memory:");
    store.install();
    pawl::Worker worker = pawl::worker("w").discover("numbers.").create(store);
    worker.start();
    const int result = pawl::workflow("numbers.twice")
                           .trigger(21)
                           .wait(std::chrono::seconds(30))
                           .execute<int>(store);
    std::cout << "numbers.twice gives " << result << '\n';
    return result == 42 ? 0 : 1;
}
