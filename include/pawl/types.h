// The small types that everything else uses: ids, time, leases, outcomes, JSON text.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <functional>
#include <ostream>
#include <pawl/export.h>
#include <string>
#include <string_view>
#include <utility>

namespace pawl::inline v0 {

namespace detail {
struct Access;  // gives the library access to the private parts of handles
}

/// A point in time: UTC in microseconds. The store uses the clock of the database.
using Timestamp = std::chrono::sys_time<std::chrono::microseconds>;
/// A span of time in milliseconds. Literals such as 30s and 5min convert to it.
using Duration = std::chrono::milliseconds;

/// A 64-bit id from the database. Ids of different things do not convert into each other.
template <class Tag>
class Id {
public:
    constexpr Id() = default;
    /// The id with this number.
    constexpr explicit Id(std::int64_t value) : value_(value) {}
    /// The number.
    [[nodiscard]] constexpr std::int64_t value() const { return value_; }
    /// False for a default-constructed id, which names nothing.
    constexpr explicit operator bool() const { return value_ != 0; }
    /// Compares the numbers.
    friend constexpr auto operator<=>(Id, Id) = default;
    /// Prints the number.
    friend std::ostream& operator<<(std::ostream& out, Id id) { return out << id.value_; }

private:
    std::int64_t value_ = 0;
};

using MessageId = Id<struct MessageTag>;  ///< a message of a queue
using QueueId = Id<struct QueueTag>;      ///< a queue
using WorkerId = Id<struct WorkerTag>;    ///< a registered worker
/// A run of a workflow or flow. The run's message in the queue of its workflow has the same number.
using RunId = Id<struct RunTag>;

/// The right to settle one message: its id and the delivery that leased it to you. The delivery
/// number only grows, so an older lease of the same message is rejected (fencing).
struct Lease {
    MessageId message;
    int delivery = 0;  ///< the fencing token, from 1
    friend bool operator==(const Lease&, const Lease&) = default;
};

/// The outcome of settling one message. The first two occur in a healthy system. The other two are
/// mistakes of the caller: calls for a single message throw an Error instead. Only `done` changes
/// anything.
enum class Outcome {
    done,        ///< recorded, and durable
    lease_lost,  ///< the message was delivered again, settled or deleted in the meantime
    /// The message belongs to a run or task: end it with cancel(), or let its worker report it.
    workflow_queue,
    other_queue,  ///< the message is not in the queue that the caller named
};
/// The name: "done", "lease_lost", ...
[[nodiscard]] PAWL_EXPORT std::string_view to_string(Outcome outcome);

/// JSON text, which pawl stores and returns without a change: `Json{R"({"to":"ada"})"}`. It is not
/// checked before it is used: calls throw invalid_payload if it is not valid JSON. <pawl/json.h>
/// converts typed values.
struct Json {
    std::string text = "null";
    Json() = default;
    /// The text is not checked here, but by the call that stores it.
    explicit Json(std::string json_text) : text(std::move(json_text)) {}
    /// Compares the texts, byte by byte.
    friend bool operator==(const Json&, const Json&) = default;
};

/// Converts values of type T to JSON and back. <pawl/json.h> defines it for every type that
/// nlohmann::json converts. To use another library, specialise it for your types:
///   template <>
///   struct pawl::JsonCodec<Order> {
///       static pawl::Json encode(const Order& order);
///       static Order decode(const pawl::Json& json);  // throws any exception if it does not fit
///   };
template <class T>
struct JsonCodec;
/// JSON text stays as it is.
template <>
struct JsonCodec<Json> {
    /// @{
    /// The text as it is.
    static const Json& encode(const Json& json) { return json; }
    static Json encode(Json&& json) { return std::move(json); }
    static Json decode(Json json) { return json; }
    /// @}
};

}  // namespace pawl::inline v0

/// @cond
template <class Tag>
struct std::hash<pawl::Id<Tag>> {
    std::size_t operator()(pawl::Id<Tag> id) const noexcept {
        return std::hash<std::int64_t>{}(id.value());
    }
};
/// @endcond
