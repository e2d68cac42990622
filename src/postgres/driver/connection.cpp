#include "postgres/driver/connection.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fmt/format.h>
#include <limits>
#include <poll.h>

#include "base/crash_point.h"
#include "base/deadline.h"

namespace pawl::postgres {

namespace {

constexpr int binary = 1;

void replace_all(std::string& text, std::string_view token, std::string_view value) {
    for (auto at = text.find(token); at != std::string::npos;
         at = text.find(token, at + value.size()))
        text.replace(at, token.size(), value);
}

}  // namespace

Connection::Connection(PgConnection connection, const PostgresTarget& target, int interrupt)
    : connection_(std::move(connection)),
      schema_(target.schema),
      interrupt_(interrupt),
      use_prepared_(target.pooler != Pooler::transaction) {
    PQsetnonblocking(connection_.get(), 1);
}

std::string expand(std::string_view text, std::string_view schema) {
    std::string expanded(text);
    replace_all(expanded, "{schema}", fmt::format("\"{}\"", schema));
    replace_all(expanded, "{schema_name}", schema);
    return expanded;
}

std::vector<Rows> Connection::run(std::span<const Call> calls, IfAnswerLost if_lost) {
    try {
        return attempt(calls, if_lost);
    } catch (const Refused& refused) {
        if (!is_stale_plan(refused.error)) throw;
        // A migration changed a table used by a prepared statement. Nothing was written: prepare it
        // again.
        run_script("deallocate all", "deallocate");
        for (auto& [name, prepared] : statements_) prepared.on_server = false;
        return attempt(calls, if_lost);
    }
}

Rows Connection::run(
    const store::Statement& statement, const Params& params, IfAnswerLost if_lost
) {
    const Call call{statement, params};
    return std::move(run(std::span(&call, 1), if_lost).front());
}

std::vector<Rows> Connection::attempt(std::span<const Call> calls, IfAnswerLost if_lost) {
    Answers answers;
    std::vector<Prepared*> to_prepare;
    bool sent = false;
    start_waiting();
    base::crash_point();
    if (has_ended()) {
        broken_ = true;
        lost(if_lost, false);
    }
    try {
        if (PQenterPipelineMode(connection_.get()) != 1) throw std::exception();
        send(calls, to_prepare);
        sent = true;
        flush();
        receive(calls, to_prepare, answers);
        if (PQexitPipelineMode(connection_.get()) != 1) throw std::exception();
    } catch (const std::exception&) {
        broken_ = true;
        // If the server ended the session before it answered every call, it has rolled back.
        // Without that message the outcome is unknown.
        lost(if_lost, sent && !answers.refused);
    }
    base::crash_point();
    if (answers.refused) {
        if (is_session_end(answers.refusal)) {
            broken_ = true;
            lost(if_lost, false);
        }
        if (is_read_only(answers.refusal))
            broken_ = true;  // the next connection may reach a server that accepts writes
        throw Refused(std::move(answers.refusal));
    }
    return std::move(answers.rows);
}

// Whether the server closed an idle connection: then nothing is sent, and the outcome is not in
// doubt.
bool Connection::has_ended() {
    pollfd waiting{PQsocket(connection_.get()), POLLIN, 0};
    if (poll(&waiting, 1, 0) <= 0) return false;
    return PQconsumeInput(connection_.get()) != 1 || PQstatus(connection_.get()) != CONNECTION_OK;
}

void Connection::send(std::span<const Call> calls, std::vector<Prepared*>& to_prepare) {
    PGconn* const pg = connection_.get();
    for (const auto& [statement, params, then] : calls) {
        Prepared& prepared = statements_[statement.name];
        if (prepared.text.empty()) prepared.text = expand(statement.text);
        if (use_prepared_ && !prepared.on_server &&
            std::ranges::find(to_prepare, &prepared) == to_prepare.end()) {
            to_prepare.push_back(&prepared);
            if (PQsendPrepare(pg, statement.name.data(), prepared.text.c_str(), 0, nullptr) != 1)
                throw std::exception();
        } else {
            to_prepare.push_back(nullptr);
        }
        const int ok = use_prepared_ ? PQsendQueryPrepared(
                                           pg,
                                           statement.name.data(),
                                           params.count(),
                                           params.values(),
                                           params.lengths(),
                                           params.formats(),
                                           binary
                                       )
                                     : PQsendQueryParams(
                                           pg,
                                           prepared.text.c_str(),
                                           params.count(),
                                           nullptr,
                                           params.values(),
                                           params.lengths(),
                                           params.formats(),
                                           binary
                                       );
        if (ok != 1 || (then == Call::Then::commit && PQpipelineSync(pg) != 1))
            throw std::exception();
    }
    if (PQpipelineSync(pg) != 1) throw std::exception();
}

void Connection::start_waiting() {
    answer_by_.reset();
    unanswered_ = false;
    if (call_timeout_) answer_by_ = base::deadline_after(*call_timeout_);
}

// Bounds the wait for a server that is reachable but does not answer.
int Connection::time_left() const {
    if (!answer_by_) return -1;
    const auto left =
        std::chrono::ceil<Duration>(*answer_by_ - std::chrono::steady_clock::now()).count();
    return static_cast<int>(std::clamp<Duration::rep>(left, 0, std::numeric_limits<int>::max()));
}

void Connection::wait(short events) {
    std::array<pollfd, 2> waiting{
        pollfd{PQsocket(connection_.get()), events, 0}, pollfd{interrupt_, POLLIN, 0}};
    int ready = poll(waiting.data(), waiting.size(), time_left());
    while (ready < 0 && errno == EINTR) ready = poll(waiting.data(), waiting.size(), time_left());
    unanswered_ = ready == 0;
    if (ready <= 0 || waiting[1].revents != 0) throw std::exception();
    if ((waiting[0].revents & ~POLLOUT) != 0 && PQconsumeInput(connection_.get()) != 1)
        throw std::exception();
}

// Reads while it writes, because the buffers of both sides may be full.
void Connection::flush() {
    for (int left = PQflush(connection_.get()); left != 0; left = PQflush(connection_.get())) {
        if (left < 0) throw std::exception();
        wait(POLLIN | POLLOUT);
    }
}

PgResult Connection::next_result() {
    while (PQisBusy(connection_.get()) == 1) wait(POLLIN);
    return PgResult(PQgetResult(connection_.get()));
}

void Connection::note(PgResult result, std::string_view statement, Answers& out) {
    switch (PQresultStatus(result.get())) {
        case PGRES_TUPLES_OK:
        case PGRES_COMMAND_OK:
            out.rows.emplace_back(std::move(result));
            return;
        case PGRES_PIPELINE_ABORTED:
            return;
        case PGRES_FATAL_ERROR:
            // Without a SQLSTATE the error is from libpq: the connection is lost.
            if (PQresultErrorField(result.get(), PG_DIAG_SQLSTATE) == nullptr)
                throw std::exception();
            if (!out.refused) out.refusal = server_error(result.get(), statement);
            out.refused = true;
            return;
        default:
            throw std::exception();
    }
}

void Connection::receive(
    std::span<const Call> calls, const std::vector<Prepared*>& to_prepare, Answers& out
) {
    for (std::size_t i = 0; i < calls.size(); ++i) {
        if (to_prepare[i] != nullptr) {
            const std::size_t before = out.rows.size();
            note(next_result(), calls[i].statement.name, out);
            if (out.rows.size() > before) {
                out.rows.pop_back();
                to_prepare[i]->on_server = true;
            }
            if (next_result() != nullptr) throw std::exception();
        }
        note(next_result(), calls[i].statement.name, out);
        if (next_result() != nullptr) throw std::exception();
        if (calls[i].then == Call::Then::commit) receive_sync();
    }
    receive_sync();
}

// The commit is durable only when the Sync is acknowledged.
void Connection::receive_sync() {
    const PgResult sync = next_result();
    if (PQresultStatus(sync.get()) == PGRES_PIPELINE_SYNC) return;
    throw std::exception();
}

void Connection::lost(IfAnswerLost if_lost, bool may_have_happened) {
    Error error(
        ErrorCode::connection_failed,
        fmt::format(
            "the connection to PostgreSQL at {}:{} was lost: {}",
            PQhost(connection_.get()),
            PQport(connection_.get()),
            unanswered_ ? fmt::format("no answer within {} ms", call_timeout_->count())
                        : connection_message(connection_.get())
        ) + (if_lost == IfAnswerLost::doubt && may_have_happened
                 ? "; the outcome is unknown: check it before you repeat the call, or use an "
                   "idempotency key"
                 : "")
    );
    error.mark_retryable();
    if (if_lost == IfAnswerLost::doubt && may_have_happened) error.mark_in_doubt();
    throw error;
}

void Connection::run_script(const std::string& script, std::string_view name) {
    std::optional<ServerError> refusal;
    start_waiting();
    try {
        if (PQsendQuery(connection_.get(), script.c_str()) != 1) throw std::exception();
        flush();
        while (const PgResult result = next_result()) {
            const auto status = PQresultStatus(result.get());
            const bool good = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK ||
                              status == PGRES_EMPTY_QUERY;
            if (!good && !refusal) refusal = server_error(result.get(), name);
        }
        if (PQstatus(connection_.get()) == CONNECTION_BAD) throw std::exception();
    } catch (const std::exception&) {
        broken_ = true;
        lost(IfAnswerLost::doubt, true);
    }
    if (refusal) throw Refused(std::move(*refusal));
}

}  // namespace pawl::postgres
