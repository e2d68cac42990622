// Results of benchmarks: figures are ratios against a bare program in the same run.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace bench {

struct Result {
    std::string workload;
    std::string backend;
    nlohmann::json params;
    double value = 0;
    std::string unit;
    double ceiling = 0;  // the bare program's value; 0 without one
    double ratio = 0;
    double spread = 0;  // (largest - smallest) / median of the rounds
};

// Median and spread of rounds that were measured in pairs.
struct Pairs {
    std::vector<double> ours;
    std::vector<double> bare;
    void add(double our_value, double bare_value);
    [[nodiscard]] Result result(
        std::string workload, std::string backend, nlohmann::json params, std::string unit
    ) const;
};

[[nodiscard]] double median(std::vector<double> values);

class Report {
public:
    void add(Result result);  // prints a line immediately
    void write_json(const std::string& file) const;

private:
    std::vector<Result> results_;
};

}  // namespace bench
