// Without a worker: dequeue messages, extend their leases, settle them. Every outcome is a value,
// not an exception.
#include <cstdio>
#include <pawl/pawl.h>

namespace {
const char* text(pawl::Outcome outcome) {
    return outcome == pawl::Outcome::done ? "done" : "lease_lost";
}
}  // namespace

int main() {
    pawl::Store store = pawl::connect("sqlite::memory:");
    store.install();
    pawl::Queue jobs = store.create_queue("jobs");
    jobs.enqueue(pawl::Json{R"({"n":1})"});

    const pawl::Message first = jobs.dequeue({.lease = pawl::Duration(30'000)}).at(0);
    std::printf("delivery %d: %s\n", first.delivery, first.payload.text.c_str());
    std::printf("give it back: %s\n", text(jobs.release(first)));

    const pawl::Message again = jobs.dequeue().at(0);
    std::printf("delivery %d\n", again.delivery);
    std::printf("the old holder archives: %s\n", text(jobs.archive(first)));
    std::printf("the new holder archives: %s\n", text(jobs.archive(again)));
}
