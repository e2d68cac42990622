// The resources used by this process.
#pragma once

#include <sys/resource.h>

namespace bench {

struct Usage {
    double cpu_seconds = 0;
    double context_switches = 0;  // voluntary ones

    friend Usage operator-(const Usage& a, const Usage& b) {
        return {a.cpu_seconds - b.cpu_seconds, a.context_switches - b.context_switches};
    }
};

inline Usage process_usage() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
    };
    return {seconds(usage.ru_utime) + seconds(usage.ru_stime), static_cast<double>(usage.ru_nvcsw)};
}

}  // namespace bench
