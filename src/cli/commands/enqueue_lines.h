// JSON Lines into a queue, batch by batch. A batch is all or nothing; an error names the line.
#pragma once

#include <chrono>
#include <cstddef>
#include <istream>
#include <pawl/queue.h>
#include <vector>

namespace pawl::cli {

class LineEnqueuer {
public:
    LineEnqueuer(Queue queue, const EnqueueOptions& options, std::istream& input);

    /// Enqueues up to 1000 lines (or 8 MiB of them); empty at the end of the input. Blank lines are
    /// skipped. Throws Error; everything up to the last line of the batch before is committed.
    [[nodiscard]] std::vector<MessageId> next_batch();

private:
    [[nodiscard]] std::vector<NewMessage> read_batch();
    void check_line(const std::string& line) const;
    [[nodiscard]] std::string where_it_stopped() const;
    void show_progress() const;
    void clear_progress() const;

    Queue queue_;
    EnqueueOptions options_;
    std::istream& input_;
    std::size_t line_ = 0;            // the last one read
    std::size_t committed_line_ = 0;  // the last one whose batch is in the store
    std::size_t messages_ = 0;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace pawl::cli
