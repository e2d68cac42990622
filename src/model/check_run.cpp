#include "model/check_run.h"

#include <algorithm>
#include <fmt/format.h>
#include <pawl/error.h>

#include "model/check.h"

namespace pawl::model {

namespace {

constexpr std::size_t max_step_id_bytes = 255;
constexpr std::size_t max_key_bytes = 512;
constexpr std::size_t max_tags = 64;
constexpr std::size_t max_tag_bytes = 255;

void check_attempts(std::string_view whose, const std::optional<int>& attempts) {
    if (attempts && (*attempts < 1 || *attempts > max_max_attempts))
        refuse(fmt::format("{}: max_attempts must be 1 to {}", whose, max_max_attempts));
}

void check_backoff(
    std::string_view whose, const std::optional<Duration>& base, const std::optional<Duration>& cap
) {
    if (base) check_delay(fmt::format("{}: backoff_base", whose), *base);
    if (cap) check_delay(fmt::format("{}: backoff_cap", whose), *cap);
    if (base && cap && *base > *cap)
        refuse(fmt::format("{}: backoff_base must not be above backoff_cap", whose));
}

}  // namespace

void check_text(std::string_view what, std::string_view text, std::size_t max_bytes) {
    if (text.empty() || text.size() > max_bytes || !is_text(text))
        refuse(fmt::format("{} must be 1 to {} bytes of UTF-8", what, max_bytes));
}

void check_workflow_options(std::string_view name, const WorkflowOptions& options) {
    const std::string whose = fmt::format("workflow '{}'", name);
    check_attempts(whose, options.max_attempts);
    check_backoff(whose, options.backoff_base, options.backoff_cap);
    if (options.lease) check_positive(whose + ": lease", *options.lease);
    if (options.run_timeout) check_delay(whose + ": run_timeout", *options.run_timeout);
    if (options.max_strikes && (*options.max_strikes < 1 || *options.max_strikes > 1000))
        refuse(whose + ": max_strikes must be 1 to 1000");
    if (options.dead_letter_workflow && !options.dead_letter_workflow->empty()) {
        check_name("workflow", *options.dead_letter_workflow);
        if (*options.dead_letter_workflow == name)
            refuse(whose + ": cannot be its own dead letter workflow");
    }
}

void check_new_run(const NewRun& run, std::size_t max_payload_bytes) {
    check_size("the input", run.input.text.size(), max_payload_bytes);
    check_json(run.input.text);
    check_place(run.options.priority, run.options.delay, run.options.at);
    check_attempts("trigger", run.options.max_attempts);
    if (run.options.idempotency_key)
        check_text("an idempotency key", *run.options.idempotency_key, max_key_bytes);
    if (run.options.tags.size() > max_tags)
        refuse(fmt::format("a run has at most {} tags", max_tags));
    for (const std::string& tag : run.options.tags) check_text("a tag", tag, max_tag_bytes);
}

void check_run_page(const RunPage& page) {
    if (page.limit < 1 || page.limit > 10'000) refuse("a page's limit must be 1 to 10000");
}

void check_recorded_step_id(std::string_view id) {
    // Room for the number of a use.
    check_text("a step's id", id, max_step_id_bytes + 12);
}

void check_step_id(std::string_view id) {
    check_text("a step's id", id, max_step_id_bytes);
    if (id.find('#') != std::string_view::npos)
        refuse(fmt::format("step id '{}': '#' is not allowed, it numbers the uses of one id", id));
}

void check_step_options(std::string_view id, const StepOptions& options, std::size_t max_bytes) {
    if (!options.max_attempts && !options.backoff_base && !options.backoff_cap &&
        !options.timeout && !options.input)
        return;
    const std::string whose = fmt::format("step '{}'", id);
    check_attempts(whose, options.max_attempts);
    check_backoff(whose, options.backoff_base, options.backoff_cap);
    if (options.timeout) check_positive(whose + ": timeout", *options.timeout);
    if (options.input) check_output("the input of " + whose, options.input->text, max_bytes);
}

void check_output(std::string_view what, std::string_view json, std::size_t max_bytes) {
    check_size(what, json.size(), max_bytes);
    try {
        check_json(json);
    } catch (const Error& error) {
        throw Error(ErrorCode::serialization_error, fmt::format("{}: {}", what, error.what()));
    }
}

}  // namespace pawl::model
