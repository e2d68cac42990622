#include <fmt/format.h>

#include "generated/postgres_sql.h"
#include "model/texts.h"
#include "postgres/driver/user_transaction.h"
#include "postgres/store/postgres_store.h"

namespace pawl::postgres {

namespace {

Params enqueue_params(const std::string& queue, std::span<const NewMessage> messages, Wake wake) {
    std::vector<std::string_view> payloads;
    std::vector<int> priorities;
    std::vector<std::int64_t> delays_ms;
    std::vector<std::optional<Timestamp>> ats;
    for (const auto& message : messages) {
        payloads.emplace_back(message.payload.text);
        priorities.push_back(message.options.priority);
        delays_ms.push_back(message.options.delay.count());
        ats.push_back(message.options.at);
    }
    Params params;
    params.text(queue).json_array(payloads).int4_array(priorities).int8_array(delays_ms);
    params.time_array(ats).boolean(wake == Wake::in_transaction);
    return params;
}

std::vector<MessageId> read_ids(const Rows& rows) {
    std::vector<MessageId> ids;
    for (const auto id : rows.int8_array(0, sql::row::EnqueueBatch::message_ids))
        ids.emplace_back(id);
    return ids;
}

}  // namespace

std::vector<MessageId> PostgresStore::enqueue(
    const std::string& queue, std::span<const NewMessage> messages
) {
    const Wake wake = notifier_.next();
    const Rows rows = producer_call(sql::enqueue_batch, enqueue_params(queue, messages, wake));
    notify(QueueId(rows.int8(0, sql::row::EnqueueBatch::queue_id)), wake);
    return read_ids(rows);
}

std::vector<MessageId> PostgresStore::enqueue_in(
    Transaction transaction, const std::string& queue, std::span<const NewMessage> messages
) {
    UserTransaction user_tx(transaction, target_.schema);
    // The queue is checked by a read, because a failing statement would abort the caller's
    // transaction.
    Params name;
    name.text_array(std::span(&queue, 1));
    const Rows found = user_tx.run(sql::resolve_queues, name);
    if (found.int8(0, sql::row::ResolveQueues::queue_id) == 0) {
        throw Error(
            ErrorCode::queue_not_found, fmt::format(model::texts::queue_missing, queue, queue)
        );
    }
    if (found.boolean(0, sql::row::ResolveQueues::is_workflow)) {
        throw Error(ErrorCode::workflow_queue, fmt::format(model::texts::queue_of_workflow, queue));
    }
    return read_ids(
        user_tx.run(sql::enqueue_batch, enqueue_params(queue, messages, Wake::in_transaction))
    );
}

}  // namespace pawl::postgres
