// What the demo saw, and what the archive says about it.
#pragma once

#include <chrono>
#include <map>
#include <pawl/store.h>
#include <string>
#include <vector>

namespace pawl::cli {

/// Gathered while it runs.
struct DemoFacts {
    std::vector<MessageId> enqueued;
    WorkerInfo victim;
    std::vector<MessageId> held;  // by the victim when it was killed
    Timestamp killed_at;
    std::chrono::steady_clock::time_point start;
    Duration elapsed{};
};

struct DemoReport {
    struct Share {
        std::string name;
        int done = 0;
        int taken_over = 0;
    };
    int enqueued = 0;
    int archived = 0;     // done ones, each counted once
    int redelivered = 0;  // archived by a second or later delivery
    int held = 0;
    int held_done_by_others = 0;
    std::string victim;
    Duration takeover{};  // from the kill until the last message of the victim was done
    Duration elapsed{};
    std::vector<Share> shares;

    [[nodiscard]] bool nothing_lost() const {
        return archived == enqueued && held_done_by_others == held;
    }
    [[nodiscard]] std::string as_text() const;
    [[nodiscard]] std::string as_json() const;
};

[[nodiscard]] DemoReport look_into_archive(const Store& store, const DemoFacts& facts);

}  // namespace pawl::cli
