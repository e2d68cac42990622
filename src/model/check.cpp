#include "model/check.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <pawl/error.h>

#include "model/json_fast_path.h"
#include "model/rules.h"
#include "model/texts.h"

namespace pawl::model {

namespace {

bool is_name_character(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.' || c == ':';
}

// The parser's message without its prefix and without the payload. It is "[json.exception...] parse
// error at line 1, column 3: syntax error while parsing ... - PROBLEM; last read: '...'".
std::string parser_problem(std::string_view what) {
    if (const auto id = what.find("] "); id != std::string_view::npos) what.remove_prefix(id + 2);
    constexpr std::string_view prefix = "parse error at ";
    if (what.starts_with(prefix)) what.remove_prefix(prefix.size());
    if (what.starts_with("number overflow")) return "a number is out of range";
    what = what.substr(0, what.find("; last read: "));
    const auto place = what.find(": ");
    const auto problem = what.find(" - ");
    if (place == std::string_view::npos || problem == std::string_view::npos || problem < place)
        return std::string(what);
    return fmt::format("{}: {}", what.substr(0, place), what.substr(problem + 3));
}

// Checks the syntax and the depth without building a value.
class JsonChecker : public nlohmann::json_sax<nlohmann::json> {
public:
    bool null() override { return true; }
    bool boolean(bool) override { return true; }
    bool number_integer(number_integer_t) override { return true; }
    bool number_unsigned(number_unsigned_t) override { return true; }
    bool number_float(number_float_t, const string_t&) override { return true; }
    bool string(string_t&) override { return true; }
    bool binary(binary_t&) override { return true; }
    bool start_object(std::size_t) override { return enter(); }
    bool key(string_t&) override { return true; }
    bool end_object() override { return leave(); }
    bool start_array(std::size_t) override { return enter(); }
    bool end_array() override { return leave(); }
    bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& e) override {
        problem = parser_problem(e.what());
        return false;
    }

    std::string problem;

private:
    bool enter() {
        if (++depth_ <= rules::max_json_depth) return true;
        problem = fmt::format("nested deeper than {} levels", rules::max_json_depth);
        return false;
    }
    bool leave() { return --depth_, true; }
    int depth_ = 0;
};

}  // namespace

void refuse(ErrorCode code, const std::string& message) {
    throw Error(code, message);
}
void refuse(const std::string& message) {
    refuse(ErrorCode::invalid_argument, message);
}

void check_name(std::string_view kind, std::string_view name) {
    if (!name.empty() && name.size() <= rules::max_name_bytes && name.front() != '.' &&
        std::ranges::all_of(name, is_name_character))
        return;
    refuse(
        ErrorCode::invalid_argument,
        fmt::format(texts::name, kind, name.substr(0, 200), rules::max_name_bytes)
    );
}

void check_queue_options(std::string_view name, const QueueOptions& options) {
    const auto bad = [&](std::string_view what) {
        refuse(ErrorCode::invalid_argument, fmt::format("queue '{}': {}", name, what));
    };
    if (options.lease && *options.lease <= Duration::zero()) bad("lease must be above 0");
    if (options.lease && *options.lease > rules::longest_delay)
        bad("lease is longer than 100 years");
    if (options.max_strikes &&
        (*options.max_strikes < 1 || *options.max_strikes > rules::max_strikes))
        bad(fmt::format("max_strikes must be 1 to {}", rules::max_strikes));
    if (options.max_attempts &&
        (*options.max_attempts < 0 || *options.max_attempts > rules::max_attempts))
        bad(fmt::format("max_attempts must be 0 (no limit) to {}", rules::max_attempts));
    if (options.dead_letter_queue && !options.dead_letter_queue->empty()) {
        check_name("queue", *options.dead_letter_queue);
        if (*options.dead_letter_queue == name)
            refuse(fmt::format(texts::queue_forwards_to_itself, name));
    }
}

void check_schema_name(std::string_view name) {
    const auto good = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    };
    if (!name.empty() && name.size() <= rules::max_schema_name_bytes &&
        std::ranges::all_of(name, good) && !(name.front() >= '0' && name.front() <= '9') &&
        !name.starts_with("pg_") && name != "information_schema" && name != "public")
        return;
    refuse(
        ErrorCode::invalid_schema_name,
        fmt::format(
            "invalid schema name '{}': use 1 to {} lower case letters, digits and '_', not "
            "starting with a digit or 'pg_'; information_schema and public are reserved",
            name.substr(0, 200),
            rules::max_schema_name_bytes
        )
    );
}

bool is_text(std::string_view text) {
    const auto plain = [](char c) { return c > 0; };  // ASCII without the zero byte
    if (std::ranges::all_of(text, plain)) return true;
    if (text.find('\0') != std::string_view::npos) return false;
    try {
        (void)nlohmann::json(text).dump();
        return true;
    } catch (const nlohmann::json::exception&) {
        return false;  // not UTF-8
    }
}

void check_parameter(std::string_view text) {
    if (!is_text(text)) refuse(not_text);
}

void check_json(std::string_view text) {
    if (is_plain_json(text)) return;
    if (text.starts_with("\xEF\xBB\xBF"))  // the parser would skip it
        refuse(ErrorCode::invalid_payload, "not valid JSON: it begins with a byte order mark");
    if (text.find('\0') != std::string_view::npos)
        refuse(ErrorCode::invalid_payload, "not valid JSON: it contains a zero byte");
    JsonChecker checker;
    if (nlohmann::json::sax_parse(text.begin(), text.end(), &checker)) return;
    refuse(ErrorCode::invalid_payload, "not valid JSON: " + checker.problem);
}

std::string storable_text(std::string_view text) {
    std::string kept(text.substr(0, rules::max_reason_bytes));
    std::replace(kept.begin(), kept.end(), '\0', ' ');
    const auto replace = nlohmann::json::error_handler_t::replace;
    return nlohmann::json::parse(nlohmann::json(kept).dump(-1, ' ', false, replace))
        .get<std::string>();
}

void check_delay(std::string_view what, Duration delay) {
    if (delay < Duration::zero())
        refuse(ErrorCode::invalid_argument, fmt::format(texts::negative, what));
    if (delay > rules::longest_delay)
        refuse(ErrorCode::invalid_argument, fmt::format(texts::too_long, what));
}

void check_positive(std::string_view what, Duration time) {
    if (time <= Duration::zero()) refuse(fmt::format("{} must be above 0", what));
    check_delay(what, time);
}

bool is_storable(Timestamp time) {
    using std::chrono::sys_days;
    using std::chrono::year;
    return time >= sys_days(year(rules::earliest_year) / 1 / 1) &&
           time <= sys_days(year(rules::latest_year) / 1 / 1);
}

void check_time(const Timestamp& time) {
    if (!is_storable(time))
        refuse(fmt::format(texts::years, "the time", rules::earliest_year, rules::latest_year));
}

void check_place(int priority, Duration delay, const std::optional<Timestamp>& at) {
    check_delay("delay", delay);
    if (priority < -rules::max_priority || priority > rules::max_priority) {
        refuse(
            ErrorCode::invalid_argument,
            fmt::format(texts::priority, -rules::max_priority, rules::max_priority)
        );
    }
    if (!at) return;
    if (delay != Duration::zero())
        refuse(ErrorCode::invalid_argument, "set either a delay or a time, not both");
    check_time(*at);
}

void check_size(std::string_view what, std::size_t bytes, std::size_t max_bytes) {
    if (bytes <= max_bytes) return;
    refuse(
        ErrorCode::payload_too_large,
        fmt::format(
            "{} has {} bytes, the limit is {}: store large data elsewhere and pass a reference, or "
            "raise ConnectOptions::max_payload_bytes",
            what,
            bytes,
            max_bytes
        )
    );
}

void check_new_message(const NewMessage& message, std::size_t max_payload_bytes) {
    check_size("the payload", message.payload.text.size(), max_payload_bytes);
    check_json(message.payload.text);
    check_place(message.options.priority, message.options.delay, message.options.at);
}

void check_page_limit(int limit) {
    if (limit < 1 || limit > rules::max_page_rows)
        refuse(fmt::format("the limit of a page must be 1 to {}", rules::max_page_rows));
}

}  // namespace pawl::model
