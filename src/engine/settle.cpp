#include "engine/settle.h"

#include <fmt/format.h>

#include "engine/reconnect.h"

namespace pawl::engine {

std::vector<seam::WriteOutcome> settle(seam::Engine& backend, std::span<const seam::Write> writes) {
    Retry retry(backend);
    std::vector<seam::WriteOutcome> outcomes(writes.size());
    std::vector<const seam::Write*> pending;
    for (const seam::Write& write : writes) pending.push_back(&write);
    seam::Attempt attempt = seam::Attempt::first;
    while (!pending.empty()) {
        std::vector<seam::WriteOutcome> results;
        try {
            results = backend.commit(seam::Writes(pending), attempt);
        } catch (const Error& error) {
            if (!error.retryable() || !retry.wait(error)) throw;
            if (error.in_doubt()) attempt = seam::Attempt::repeated;
            continue;
        }
        std::vector<const seam::Write*> busy;
        for (std::size_t i = 0; i < results.size(); ++i) {
            if (results[i].status == seam::WriteStatus::busy) {
                busy.push_back(pending[i]);
            } else {
                outcomes[static_cast<std::size_t>(pending[i] - writes.data())] =
                    std::move(results[i]);
            }
        }
        if (!busy.empty() && !retry.wait("messages are locked by another transaction")) {
            throw Error(
                ErrorCode::busy,
                fmt::format(
                    "{} messages are still locked by another transaction; try again later",
                    busy.size()
                )
            )
                .mark_retryable();
        }
        pending = std::move(busy);
    }
    return outcomes;
}

}  // namespace pawl::engine
