// One answer of a worker's metrics endpoint, parsed strictly by the text format: a family is a HELP
// line, a TYPE line and then its samples, once. Anything else throws.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::test {

using LabelSet = std::map<std::string, std::string>;

struct Sample {
    std::string name;
    LabelSet labels;
    double value = 0;
};

struct ScrapedFamily {
    std::string help;
    std::string type;
    std::vector<Sample> samples;
};

class Scrape {
public:
    explicit Scrape(std::string_view text);

    [[nodiscard]] const std::map<std::string, ScrapedFamily>& families() const { return families_; }
    // "pawl_runs_total counter", ...: pawl's own families, by name.
    [[nodiscard]] std::vector<std::string> types() const;
    // The value of the only sample that has these labels, among others; none if there is no such
    // sample.
    [[nodiscard]] std::optional<double> find(const std::string& name, const LabelSet& labels) const;
    // The same, but throws if there is no such sample.
    [[nodiscard]] double value(const std::string& name, const LabelSet& labels = {}) const;

private:
    void read_line(std::string_view line);
    void begin_family(std::string_view name, std::string_view help);
    void set_type(std::string_view name, std::string_view type);
    void add_sample(std::string_view line);
    void check_family(const std::string& name, const ScrapedFamily& family) const;

    std::map<std::string, ScrapedFamily> families_;
    std::string current_;
};

// GET /metrics. Throws if the server does not answer with 200.
[[nodiscard]] Scrape scrape(int port, const std::string& address = "127.0.0.1");
// Whether a server listens there.
[[nodiscard]] bool answers(int port);

}  // namespace pawl::test
