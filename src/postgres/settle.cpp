#include "postgres/settle.h"

#include <array>

#include "generated/postgres_sql.h"
#include "postgres/run_writes.h"

namespace pawl::postgres {

using store::Attempt;
using store::Write;
using store::WriteKind;
using store::WriteOutcome;
using store::WriteStatus;

namespace {

struct SettleCall {
    WriteKind kind;
    const store::Statement* statement;
};
// In the order in which they are sent: what a run records comes before what ends its hand-out.
constexpr std::array settle_calls{
    SettleCall{WriteKind::checkpoint, &sql::record_steps},
    SettleCall{WriteKind::archive, &sql::archive},
    SettleCall{WriteKind::remove, &sql::remove},
    SettleCall{WriteKind::release, &sql::release},
    SettleCall{WriteKind::hand_back, &sql::hand_back},
    SettleCall{WriteKind::fail, &sql::fail},
    SettleCall{WriteKind::bury, &sql::bury},
    SettleCall{WriteKind::extend, &sql::extend},
    SettleCall{WriteKind::suspend, &sql::suspend_runs},
    SettleCall{WriteKind::finish, &sql::finish_runs},
};

Params message_params(
    WriteKind kind, std::span<const Write> writes, const Places& places, Attempt attempt
) {
    std::vector<std::int64_t> messages;
    std::vector<int> deliveries;
    std::vector<std::int64_t> delays_ms;
    std::vector<std::string_view> reasons;
    for (const std::size_t place : places) {
        messages.push_back(writes[place].lease.message.value());
        deliveries.push_back(writes[place].lease.delivery);
        delays_ms.push_back(writes[place].delay.count());
        reasons.push_back(writes[place].reason);
    }
    Params params;
    params.int8_array(messages).int4_array(deliveries);
    if (kind == WriteKind::extend) return std::move(params.int8_array(delays_ms));
    params.boolean(attempt == Attempt::repeated);
    if (kind == WriteKind::release || kind == WriteKind::fail) params.int8_array(delays_ms);
    if (kind == WriteKind::fail || kind == WriteKind::bury) params.text_array(reasons);
    return params;
}

Params params_of(
    WriteKind kind, std::span<const Write> writes, const Places& places, Attempt attempt, Wake wake
) {
    switch (kind) {
        case WriteKind::checkpoint:
            return checkpoint_params(writes, places, attempt);
        case WriteKind::suspend:
            return suspend_params(writes, places, attempt);
        case WriteKind::finish:
            return finish_params(writes, places, attempt, wake);
        case WriteKind::archive:
        case WriteKind::remove:
        case WriteKind::release:
        case WriteKind::hand_back:
        case WriteKind::fail:
        case WriteKind::bury:
        case WriteKind::extend:
            break;
    }
    return message_params(kind, writes, places, attempt);
}

struct Part {
    const SettleCall* call;
    Places places;
};

std::vector<Part> parts_of(std::span<const Write> writes) {
    std::array<Places, settle_calls.size()> places;
    for (std::size_t i = 0; i < writes.size(); ++i)
        places[static_cast<std::size_t>(writes[i].kind)].push_back(i);
    std::vector<Part> parts;
    for (const SettleCall& call : settle_calls) {
        Places& mine = places[static_cast<std::size_t>(call.kind)];
        if (mine.empty()) continue;
        if (call.kind == WriteKind::checkpoint) {
            for (Places& part : order_checkpoints(writes, mine))
                parts.push_back({&call, std::move(part)});
            continue;
        }
        if (call.kind == WriteKind::suspend || call.kind == WriteKind::finish)
            order_by_run(writes, mine);
        parts.push_back({&call, std::move(mine)});
    }
    return parts;
}

WriteStatus to_status(std::string_view outcome) {
    if (outcome == "done") return WriteStatus::done;
    if (outcome == "cancelled") return WriteStatus::cancelled;
    return outcome == "busy" ? WriteStatus::busy : WriteStatus::lease_lost;
}

}  // namespace

void settle(
    Connection& connection,
    std::span<const Write> writes,
    Attempt attempt,
    std::span<WriteOutcome> outcomes,
    Ends& ends
) {
    const auto parts = parts_of(writes);
    std::vector<Params> params;
    std::vector<Call> calls;
    params.reserve(parts.size());
    for (const Part& part : parts) {
        params.push_back(params_of(part.call->kind, writes, part.places, attempt, ends.wake));
        calls.push_back({*part.call->statement, params.back()});
    }
    const auto answers = connection.run(calls, Access::write);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const auto words = answers[i].text_array(0, 0);
        for (std::size_t item = 0; item < words.size(); ++item)
            outcomes[parts[i].places[item]].status = to_status(words[item]);
        if (parts[i].call->kind != WriteKind::finish) continue;
        for (const auto run : answers[i].int8_array(0, 1)) ends.awaited.emplace_back(run);
    }
}

}  // namespace pawl::postgres
