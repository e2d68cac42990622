// One connection. Each run() is one pipeline with one Sync: one transaction in one round trip.
#pragma once

#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "postgres/driver/error.h"
#include "postgres/driver/handles.h"
#include "postgres/driver/params.h"
#include "postgres/driver/rows.h"
#include "postgres/open_postgres.h"
#include "store/statement.h"

namespace pawl::postgres {

// The text of a statement with the name of the schema inserted.
[[nodiscard]] std::string expand(std::string_view text, std::string_view schema);

struct Call {
    enum class Then { same_transaction, commit };

    const store::Statement& statement;
    const Params& params;
    Then then = Then::same_transaction;  // commit: the next call is another transaction
};

// If an answer is lost, the call is safe to repeat, or its outcome is unknown.
enum class IfAnswerLost { repeat, doubt };

// Thrown if the server refused a call; the whole run is rolled back.
class Refused : public std::exception {
public:
    explicit Refused(ServerError refusal) : error(std::move(refusal)) {}
    [[nodiscard]] const char* what() const noexcept override { return error.message.c_str(); }
    ServerError error;
};

class Connection {
public:
    // Each host of the URL gets the whole timeout. All waits end when `interrupt` (a file
    // descriptor; -1: none) becomes readable. Throws Error(connection_failed, timeout,
    // pooler_detected).
    static std::unique_ptr<Connection> open(
        const PostgresTarget& target, Duration timeout, int interrupt = -1
    );

    // Throws Refused, or Error(connection_failed) with in_doubt() if the answer to a write was
    // lost.
    std::vector<Rows> run(std::span<const Call> calls, IfAnswerLost if_lost);
    Rows run(const store::Statement& statement, const Params& params, IfAnswerLost if_lost);
    // Several statements without parameters, in one implicit transaction.
    void run_script(const std::string& script, std::string_view name);

    // The time limit for the answer to a run() or a script; after it the connection is closed.
    // None: no limit.
    void set_call_timeout(std::optional<Duration> timeout) { call_timeout_ = timeout; }

    [[nodiscard]] bool broken() const { return broken_; }
    [[nodiscard]] PGconn* native() { return connection_.get(); }
    [[nodiscard]] std::string expand(std::string_view text) const {
        return postgres::expand(text, schema_);
    }

    bool schema_checked = false;  // the store has checked the schema version over this connection

private:
    Connection(PgConnection connection, const PostgresTarget& target, int interrupt);

    struct Prepared {
        std::string text;
        bool on_server = false;
    };
    struct Answers {
        std::vector<Rows> rows;
        std::vector<Prepared*> prepared;
        bool refused = false;
        ServerError refusal;
    };

    [[nodiscard]] bool has_ended();
    void send(std::span<const Call> calls, std::vector<Prepared*>& to_prepare);
    void flush();
    void start_waiting();
    [[nodiscard]] int time_left() const;  // in milliseconds; -1: no limit
    void wait(short events);
    PgResult next_result();
    void receive(
        std::span<const Call> calls, const std::vector<Prepared*>& to_prepare, Answers& out
    );
    void note(PgResult result, std::string_view statement, Answers& out);
    void receive_sync();
    [[noreturn]] void lost(IfAnswerLost if_lost, bool may_have_happened);
    std::vector<Rows> attempt(std::span<const Call> calls, IfAnswerLost if_lost);

    PgConnection connection_;
    std::string schema_;
    int interrupt_;
    bool use_prepared_;
    bool broken_ = false;
    std::optional<Duration> call_timeout_;
    std::optional<std::chrono::steady_clock::time_point> answer_by_;
    bool unanswered_ = false;
    std::unordered_map<std::string_view, Prepared> statements_;
};

}  // namespace pawl::postgres
