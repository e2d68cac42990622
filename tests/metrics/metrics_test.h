// The fixture for metrics: workers that are scraped over HTTP, with a stopped clock.
#pragma once

#include "metrics/scrape.h"
#include "support/outbox_test.h"

namespace pawl::test {

class MetricsTest : public OutboxStoreTest {
protected:
    // Each scrape reads all values again.
    static MetricsOptions fresh() { return {.refresh = 0s}; }
    static Scrape scraped(const Worker& worker) { return scrape(worker.metrics_port()); }

    template <class F>
    [[nodiscard]] Worker measured(F function, const std::string& name = "job") const {
        return worker("w")
            .handle(name, std::move(function))
            .share_threads(shares_threads())
            .metrics(fresh())
            .create(store());
    }
};

inline LabelSet outcome(const std::string& label, const std::string& name, const char* outcome) {
    return {{label, name}, {"outcome", outcome}};
}
inline LabelSet of_job(const char* result) {
    return outcome("workflow", "job", result);
}

}  // namespace pawl::test
