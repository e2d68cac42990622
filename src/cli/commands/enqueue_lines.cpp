#include "cli/commands/enqueue_lines.h"

#include <cstdio>
#include <fmt/format.h>
#include <span>
#include <string>
#include <unistd.h>
#include <utility>

#include "cli/frame/context.h"
#include "cli/output/render.h"

namespace pawl::cli {

namespace {

constexpr std::size_t batch_lines = 1000;
constexpr std::size_t batch_bytes = std::size_t{8} * 1024 * 1024;
constexpr auto silent_at_first = std::chrono::seconds(1);  // short jobs show no progress

// The same error, with the place in the file before it.
Error at(const std::string& place, const Error& error, const std::string& consequence) {
    Error located(error.code(), fmt::format("{}: {}; {}", place, error.what(), consequence));
    if (error.retryable()) located.mark_retryable();
    if (error.in_doubt()) located.mark_in_doubt();
    return located;
}

}  // namespace

LineEnqueuer::LineEnqueuer(Queue queue, const EnqueueOptions& options, std::istream& input)
    : queue_(std::move(queue)), options_(options), input_(input) {}

std::vector<MessageId> LineEnqueuer::next_batch() {
    const auto batch = read_batch();
    if (batch.empty()) {
        clear_progress();
        return {};
    }
    try {
        auto ids = queue_.enqueue(std::span<const NewMessage>(batch));
        committed_line_ = line_;
        messages_ += ids.size();
        show_progress();
        return ids;
    } catch (const Error& error) {
        clear_progress();
        const auto place = fmt::format("lines {} to {}", committed_line_ + 1, line_);
        throw at(
            place,
            error,
            error.in_doubt() ? "check whether they were enqueued before you repeat them"
                             : where_it_stopped()
        );
    }
}

std::vector<NewMessage> LineEnqueuer::read_batch() {
    std::vector<NewMessage> batch;
    std::size_t bytes = 0;
    std::string line;
    while (batch.size() < batch_lines && bytes < batch_bytes && std::getline(input_, line)) {
        ++line_;
        if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
        if (line.ends_with('\r')) line.pop_back();
        check_line(line);
        bytes += line.size();
        batch.push_back({Json(std::exchange(line, {})), options_});
    }
    if (input_.bad())
        throw Error(
            ErrorCode::invalid_argument,
            fmt::format("reading failed after line {}; {}", line_, where_it_stopped())
        );
    return batch;
}

// The store checks it too, but knows only the index within the batch.
void LineEnqueuer::check_line(const std::string& line) const {
    const auto limit = ConnectOptions{}.max_payload_bytes;
    const auto refuse = [&](ErrorCode code, const std::string& why) {
        clear_progress();
        throw Error(code, fmt::format("line {}: {}; {}", line_, why, where_it_stopped()));
    };
    if (line.size() > limit)
        refuse(
            ErrorCode::payload_too_large,
            fmt::format("{} bytes, the limit is {}", line.size(), limit)
        );
    if (const auto problem = json_problem(line)) refuse(ErrorCode::invalid_payload, *problem);
}

std::string LineEnqueuer::where_it_stopped() const {
    if (committed_line_ == 0) return "nothing was enqueued";
    return fmt::format(
        "lines 1 to {0} are enqueued, nothing after them; continue with: tail -n +{1} FILE",
        committed_line_,
        committed_line_ + 1
    );
}

void LineEnqueuer::show_progress() const {
    if (!is_terminal(STDERR_FILENO)) return;
    const auto elapsed = std::chrono::steady_clock::now() - start_;
    if (elapsed < silent_at_first) return;
    const auto seconds = std::chrono::duration<double>(elapsed).count();
    fmt::print(
        stderr,
        "\r{} messages enqueued, {:.0f}/s ",
        messages_,
        static_cast<double>(messages_) / seconds
    );
    std::fflush(stderr);
}

void LineEnqueuer::clear_progress() const {
    if (is_terminal(STDERR_FILENO) && std::chrono::steady_clock::now() - start_ >= silent_at_first)
        fmt::print(stderr, "\r\x1b[K");
}

}  // namespace pawl::cli
