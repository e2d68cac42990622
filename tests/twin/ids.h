// Ids as a comparison of two stores needs them: by the order in which they appear, since a store
// may leave out numbers (a PostgreSQL sequence does after a rollback).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace pawl::test::twin {

// Messages and runs share one space: a run's message has its number.
enum class IdKind { message, queue, worker, outbox };

class Ids {
public:
    // "m1", "m2", ...; "-" for 0, which names nothing.
    std::string of(IdKind kind, std::int64_t id);
    // "u1", "u2", ...; the text itself if it is not a UUID.
    std::string uuid(const std::string& text);
    // Free text with the ids in it replaced: "run 17", "message 3", "worker 2", "run:17".
    std::string text(std::string_view text);
    // JSON text without blanks; ids in it are replaced, and so are those in its strings. Members
    // stay in their order. The member "by" is left out: PostgreSQL records the role that was logged
    // in, and SQLite knows no roles (docs/history.md).
    std::string json(const std::string& text);

private:
    std::map<std::pair<IdKind, std::int64_t>, int> numbers_;
    std::map<IdKind, int> last_;
    std::map<std::string, int> uuids_;
};

}  // namespace pawl::test::twin
