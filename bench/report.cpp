#include "report.h"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <fstream>

namespace bench {

namespace {

int decimals(double value) {
    return value < 1 ? 3 : value < 100 ? 2 : 0;
}

}  // namespace

double median(std::vector<double> values) {
    if (values.empty()) return 0;
    std::ranges::sort(values);
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

void Pairs::add(double our_value, double bare_value) {
    ours.push_back(our_value);
    bare.push_back(bare_value);
}

Result Pairs::result(
    std::string workload, std::string backend, nlohmann::json params, std::string unit
) const {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < ours.size(); ++i) ratios.push_back(ours[i] / bare[i]);
    const double value = median(ours);
    const auto [least, most] = std::ranges::minmax(ours);
    return {
        std::move(workload),
        std::move(backend),
        std::move(params),
        value,
        std::move(unit),
        median(bare),
        median(ratios),
        (most - least) / value};
}

void Report::add(Result result) {
    std::string line = fmt::format(
        "{:<22} {:<9} {:<44} {:>10.{}f} {:<11}",
        result.workload,
        result.backend,
        result.params.dump(),
        result.value,
        decimals(result.value),
        result.unit
    );
    if (result.ceiling > 0)
        line += fmt::format(
            "  bare {:>8.{}f}  ratio {:.2f}  spread {:.0f} %",
            result.ceiling,
            decimals(result.ceiling),
            result.ratio,
            result.spread * 100
        );
    std::puts(line.c_str());
    std::fflush(stdout);
    results_.push_back(std::move(result));
}

void Report::write_json(const std::string& file) const {
    auto all = nlohmann::json::array();
    for (const Result& r : results_) {
        all.push_back(
            {{"workload", r.workload},
             {"backend", r.backend},
             {"params", r.params},
             {"value", r.value},
             {"unit", r.unit},
             {"ceiling", r.ceiling},
             {"ratio", r.ratio},
             {"spread", r.spread}}
        );
    }
    std::ofstream(file) << all.dump(2) << "\n";
}

}  // namespace bench
