// Ids for comparing two stores: by the order in which they appear, because a store may skip numbers
// (a PostgreSQL sequence does after a rollback).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace pawl::test::twin {

// Messages and runs share one sequence: a run's message has its id.
enum class IdKind { message, queue, worker, outbox };

class Ids {
public:
    // "m1", "m2", ...; "-" for 0, which is no id.
    std::string of(IdKind kind, std::int64_t id);
    // "u1", "u2", ...; the text itself if it is not a UUID.
    std::string uuid(const std::string& text);
    // Free text with its ids replaced: "run 17", "message 3", "worker 2", "run:17".
    std::string text(std::string_view text);
    // JSON text without blanks, with ids replaced, also in its strings. Members stay in their
    // order. The member "by" is removed: PostgreSQL records the role that was logged in, and SQLite
    // has no roles (docs/history.md).
    std::string json(const std::string& text);

private:
    std::map<std::pair<IdKind, std::int64_t>, int> numbers_;
    std::map<IdKind, int> last_;
    std::map<std::string, int> uuids_;
};

}  // namespace pawl::test::twin
