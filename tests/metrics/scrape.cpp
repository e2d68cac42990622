#include "metrics/scrape.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <httplib.h>
#include <limits>
#include <stdexcept>

namespace pawl::test {

namespace {

[[noreturn]] void bad(std::string_view what, std::string_view where) {
    throw std::runtime_error(fmt::format("{}: '{}'", what, where));
}

bool is_name(std::string_view text) {
    const auto fits = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
    };
    return !text.empty() && !std::isdigit(static_cast<unsigned char>(text.front())) &&
           std::ranges::all_of(text, fits);
}

// Returns the text before `end`, and removes both.
std::string_view take_until(std::string_view& text, char end) {
    const auto at = text.find(end);
    if (at == std::string_view::npos) bad(fmt::format("no '{}'", end), text);
    const auto taken = text.substr(0, at);
    text.remove_prefix(at + 1);
    return taken;
}

double number_in(std::string_view text) {
    if (text == "+Inf") return std::numeric_limits<double>::infinity();
    double value = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc() || end != text.data() + text.size()) bad("not a number", text);
    return value;
}

LabelSet labels_in(std::string_view text) {
    LabelSet labels;
    while (!text.empty()) {
        const auto name = take_until(text, '=');
        if (!is_name(name) || name.starts_with("__")) bad("not a label", name);
        if (!text.starts_with('"')) bad("no value", text);
        text.remove_prefix(1);
        const auto value = take_until(text, '"');
        if (value.find_first_of("\\\n") != std::string_view::npos) bad("not expected", value);
        if (!labels.emplace(name, value).second) bad("twice the same label", name);
        if (!text.empty() && take_until(text, ',') != "") bad("no comma", text);
    }
    return labels;
}

// For each set of labels: buckets only grow, and the last one is +Inf and equals the count.
void check_histogram(const std::vector<Sample>& samples, const std::string& name) {
    struct Last {
        double bound = -1;
        double count = 0;
    };
    std::map<LabelSet, Last> last;
    for (const Sample& sample : samples) {
        if (sample.name != name + "_bucket") continue;
        LabelSet labels = sample.labels;
        const auto bound = labels.extract("le");
        if (bound.empty()) bad("a bucket without a bound", name);
        const Last next{number_in(bound.mapped()), sample.value};
        Last& before = last[labels];
        if (next.bound <= before.bound || next.count < before.count) bad("buckets", name);
        before = next;
    }
    for (const Sample& sample : samples) {
        if (sample.name != name + "_count") continue;
        const Last& bucket = last[sample.labels];
        if (bucket.bound != std::numeric_limits<double>::infinity()) bad("no +Inf", name);
        if (bucket.count != sample.value) bad("the count is not that of the buckets", name);
    }
}

}  // namespace

Scrape::Scrape(std::string_view text) {
    if (text.empty() || text.back() != '\n') bad("the last line does not end", text);
    while (!text.empty()) read_line(take_until(text, '\n'));
    for (const auto& [name, family] : families_) check_family(name, family);
}

void Scrape::read_line(std::string_view line) {
    if (line.starts_with("# HELP ")) {
        line.remove_prefix(7);
        const auto name = take_until(line, ' ');
        begin_family(name, line);
    } else if (line.starts_with("# TYPE ")) {
        line.remove_prefix(7);
        const auto name = take_until(line, ' ');
        set_type(name, line);
    } else {
        add_sample(line);
    }
}

void Scrape::begin_family(std::string_view name, std::string_view help) {
    if (!is_name(name)) bad("not a name", name);
    if (help.empty()) bad("no help", name);
    current_ = name;
    if (!families_.emplace(name, ScrapedFamily{std::string(help), {}, {}}).second)
        bad("twice the same family", name);
}

void Scrape::set_type(std::string_view name, std::string_view type) {
    if (current_ != name || !families_[current_].type.empty()) bad("a type out of order", name);
    families_[current_].type = type;
}

void Scrape::add_sample(std::string_view line) {
    Sample sample;
    const auto brace = line.find('{');
    if (brace != std::string_view::npos) {
        sample.name = take_until(line, '{');
        sample.labels = labels_in(take_until(line, '}'));
        if (!line.starts_with(' ')) bad("no blank", line);
        line.remove_prefix(1);
    } else {
        sample.name = take_until(line, ' ');
    }
    sample.value = number_in(line);
    ScrapedFamily& family = families_[current_];
    std::string_view rest = sample.name;
    if (!rest.starts_with(current_)) bad("not of this family", sample.name);
    rest.remove_prefix(current_.size());
    const bool parts = family.type == "histogram" || family.type == "summary";
    if (parts ? rest != "_bucket" && rest != "_sum" && rest != "_count" && rest != ""
              : !rest.empty())
        bad("not of this family", sample.name);
    family.samples.push_back(std::move(sample));
}

void Scrape::check_family(const std::string& name, const ScrapedFamily& family) const {
    if (family.type.empty()) bad("no type", name);
    if (family.samples.empty()) bad("no sample", name);
    if ((family.type == "counter") != name.ends_with("_total")) bad("the name's end", name);
    if (family.type == "histogram") check_histogram(family.samples, name);
    for (std::size_t i = 0; i < family.samples.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            if (family.samples[i].name == family.samples[j].name &&
                family.samples[i].labels == family.samples[j].labels)
                bad("twice the same sample", name);
        }
    }
}

std::vector<std::string> Scrape::types() const {
    std::vector<std::string> types;
    for (const auto& [name, family] : families_) {
        if (name.starts_with("pawl_")) types.push_back(name + " " + family.type);
    }
    return types;
}

std::optional<double> Scrape::find(const std::string& name, const LabelSet& labels) const {
    std::optional<double> found;
    for (const auto& [family_name, family] : families_) {
        for (const Sample& sample : family.samples) {
            const bool fits = std::ranges::all_of(labels, [&](const auto& label) {
                const auto at = sample.labels.find(label.first);
                return at != sample.labels.end() && at->second == label.second;
            });
            if (sample.name != name || !fits) continue;
            if (found) bad("more than one sample", name);
            found = sample.value;
        }
    }
    return found;
}

double Scrape::value(const std::string& name, const LabelSet& labels) const {
    if (const auto found = find(name, labels)) return *found;
    bad("no such sample", name);
}

Scrape scrape(int port, const std::string& address) {
    httplib::Client client(address, port);
    const auto answer = client.Get("/metrics");
    if (!answer) bad("no answer", fmt::format("{}:{}", address, port));
    if (answer->status != 200) bad("not 200", std::to_string(answer->status));
    const std::string type = answer->get_header_value("Content-Type");
    if (!type.starts_with("text/plain")) bad("not plain text", type);
    return Scrape(answer->body);
}

bool answers(int port) {
    httplib::Client client("127.0.0.1", port);
    return static_cast<bool>(client.Get("/metrics"));
}

}  // namespace pawl::test
