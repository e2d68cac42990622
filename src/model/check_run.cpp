#include "model/check_run.h"

#include <algorithm>
#include <fmt/format.h>
#include <pawl/error.h>

#include "model/check.h"
#include "model/rules.h"
#include "model/texts.h"

namespace pawl::model {

namespace {

void check_attempts(std::string_view whose, const std::optional<int>& attempts) {
    if (attempts && (*attempts < 1 || *attempts > rules::max_attempts))
        refuse(fmt::format("{}: max_attempts must be 1 to {}", whose, rules::max_attempts));
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
        refuse(fmt::format(texts::bytes_of_text, what, max_bytes));
}

void check_workflow_options(std::string_view name, const WorkflowOptions& options) {
    const std::string whose = fmt::format("workflow '{}'", name);
    check_attempts(whose, options.max_attempts);
    check_backoff(whose, options.backoff_base, options.backoff_cap);
    if (options.lease) check_positive(whose + ": lease", *options.lease);
    if (options.run_timeout) check_delay(whose + ": run_timeout", *options.run_timeout);
    if (options.max_strikes &&
        (*options.max_strikes < 1 || *options.max_strikes > rules::max_strikes))
        refuse(fmt::format("{}: max_strikes must be 1 to {}", whose, rules::max_strikes));
    if (options.dead_letter_workflow && !options.dead_letter_workflow->empty()) {
        check_name("workflow", *options.dead_letter_workflow);
        if (*options.dead_letter_workflow == name)
            refuse(fmt::format(texts::workflow_forwards_to_itself, name));
    }
}

void check_new_run(const NewRun& run, std::size_t max_payload_bytes) {
    check_size("the input", run.input.text.size(), max_payload_bytes);
    check_json(run.input.text);
    check_place(run.options.priority, run.options.delay, run.options.at);
    check_attempts("trigger", run.options.max_attempts);
    if (run.options.idempotency_key)
        check_text("an idempotency key", *run.options.idempotency_key, rules::max_key_bytes);
    if (run.options.tags.size() > rules::max_tags)
        refuse(fmt::format(texts::tags, rules::max_tags));
    for (const std::string& tag : run.options.tags) check_text("a tag", tag, rules::max_tag_bytes);
}

void check_run_page(const RunPage& page) {
    check_page_limit(page.limit);
}

void check_recorded_step_id(std::string_view id) {
    check_text("a step's id", id, rules::max_recorded_id_bytes);
}

void check_step_id(std::string_view id) {
    check_text("a step's id", id, rules::max_step_id_bytes);
    if (id.find('#') != std::string_view::npos)
        refuse(fmt::format(
            "step id '{}' must not contain '#', which is reserved for numbering repeated ids", id
        ));
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
