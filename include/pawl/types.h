// The small types everything else speaks in: ids, time, leases, outcomes, JSON text.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

namespace pawl {

using namespace std::chrono_literals;

/// UTC, microseconds: what the database's clock gives and stores.
using Timestamp = std::chrono::sys_time<std::chrono::microseconds>;
using Duration = std::chrono::milliseconds;

/// A 64-bit id given by the database. Ids of different things do not mix.
template <class Tag>
class Id {
public:
    constexpr Id() = default;
    constexpr explicit Id(std::int64_t value) : value_(value) {}
    [[nodiscard]] constexpr std::int64_t value() const { return value_; }
    /// False for the default-made id, which names nothing.
    constexpr explicit operator bool() const { return value_ != 0; }
    friend constexpr auto operator<=>(Id, Id) = default;  // NOLINT(modernize-use-nullptr)
    friend std::ostream& operator<<(std::ostream& out, Id id) { return out << id.value_; }

private:
    std::int64_t value_ = 0;
};

using MessageId = Id<struct MessageTag>;
using QueueId = Id<struct QueueTag>;
using WorkerId = Id<struct WorkerTag>;
/// A run's message has the same number: it is how a run stands in its workflow's queue.
using RunId = Id<struct RunTag>;

/// The right to settle one message: its id and the number of the hand-out that gave it to you. The
/// delivery number only grows, so an older lease of the same message is worthless (fencing).
struct Lease {
    MessageId message;
    int delivery = 0;
    friend bool operator==(const Lease&, const Lease&) = default;
};

/// The outcome of settling one message. The first two happen in a healthy system; the other two are
/// mistakes of the caller, which calls for a single message report as an Error. Only `done` changes
/// anything.
enum class Outcome {
    done,            ///< recorded, and durable
    lease_lost,      ///< the message was delivered again, settled or deleted in the meantime
    workflow_queue,  ///< the message carries a run or a task, which end by their own calls
    other_queue,     ///< the message is not in the queue that the caller named
};
[[nodiscard]] std::string_view to_string(Outcome outcome);

/// JSON text, passed through unparsed. `Json{R"({"to":"ada"})"}` is an object; a typed value gets
/// here through <pawl/json.h>.
struct Json {
    std::string text = "null";
    Json() = default;
    explicit Json(std::string json_text) : text(std::move(json_text)) {}
    friend bool operator==(const Json&, const Json&) = default;
};

/// How typed values become JSON text and come back. <pawl/json.h> defines it for everything that
/// nlohmann::json converts; specialise it yourself to use another library.
template <class T>
struct JsonCodec;
template <>
struct JsonCodec<Json> {
    static const Json& encode(const Json& json) { return json; }
    static Json encode(Json&& json) { return std::move(json); }
    static Json decode(Json json) { return json; }
};

}  // namespace pawl

template <class Tag>
struct std::hash<pawl::Id<Tag>> {
    std::size_t operator()(pawl::Id<Tag> id) const noexcept {
        return std::hash<std::int64_t>{}(id.value());
    }
};
