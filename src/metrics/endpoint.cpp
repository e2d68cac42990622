// The Prometheus endpoint of a worker: GET /metrics over HTTP.

#include <fmt/format.h>
#include <pawl/worker.h>

#include "runtime/metrics/metrics_endpoint.h"
#include "seam/backend.h"

#ifdef PAWL_WITH_METRICS
#include <arpa/inet.h>
#include <netinet/in.h>
#include <prometheus/exposer.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include "metrics/worker_exposition.h"
#endif

#ifdef PAWL_WITH_METRICS

namespace pawl::metrics {
namespace {

std::string listening_at(const MetricsOptions& options) {
    if (options.address.find(':') != std::string::npos)
        return fmt::format("[{}]:{}", options.address, options.port);
    return fmt::format("{}:{}", options.address, options.port);
}

// A client that sends or reads nothing holds one thread until the timeout; the other threads serve
// the others.
std::vector<std::string> server_options(const MetricsOptions& options) {
    return {
        "listening_ports", listening_at(options), "num_threads", "8", "request_timeout_ms", "2000"};
}

// The HTTP server notices its stop flag only at the next connection or after 2 s, so this connects
// to it.
class Knocking {
public:
    Knocking(const std::string& address, int port)
        : thread_([address, port](const std::stop_token& ended) {
              while (!ended.stop_requested()) {
                  knock(address, port);
                  std::this_thread::sleep_for(5ms);
              }
          }) {}

private:
    static void knock(const std::string& address, int port) {
        sockaddr_in v4{};
        v4.sin_family = AF_INET;
        v4.sin_port = htons(static_cast<std::uint16_t>(port));
        sockaddr_in6 v6{};
        v6.sin6_family = AF_INET6;
        v6.sin6_port = v4.sin_port;
        const bool is_v4 = inet_pton(AF_INET, address.c_str(), &v4.sin_addr) == 1;
        if (!is_v4) inet_pton(AF_INET6, address.c_str(), &v6.sin6_addr);
        const int caller = socket(is_v4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (caller < 0) return;
        const auto* at =
            is_v4 ? reinterpret_cast<const sockaddr*>(&v4) : reinterpret_cast<const sockaddr*>(&v6);
        (void)connect(caller, at, is_v4 ? sizeof v4 : sizeof v6);
        close(caller);
    }

    std::jthread thread_;
};

class HttpEndpoint final : public runtime::MetricsEndpoint {
public:
    HttpEndpoint(const MetricsOptions& options, std::shared_ptr<WorkerFamilies> families)
        : address_(options.address),
          families_(std::move(families)),
          exposer_(std::make_unique<prometheus::Exposer>(server_options(options))) {
        exposer_->RegisterCollectable(families_);
    }
    ~HttpEndpoint() override {
        const Knocking knocking(address_, port());
        exposer_.reset();
    }
    [[nodiscard]] int port() const override { return exposer_->GetListeningPorts().at(0); }

private:
    const std::string address_;
    const std::shared_ptr<WorkerFamilies> families_;  // the exposer only has a weak reference
    std::unique_ptr<prometheus::Exposer> exposer_;
};

}  // namespace
}  // namespace pawl::metrics

namespace pawl {

namespace {

// Listens when this returns. Throws listen_failed.
std::unique_ptr<runtime::MetricsEndpoint> open_endpoint(
    const WorkerOptions& options,
    std::shared_ptr<const runtime::WorkerMeters> meters,
    std::shared_ptr<seam::Backend> backend
) {
    auto families =
        std::make_shared<metrics::WorkerFamilies>(options, std::move(meters), std::move(backend));
    try {
        return std::make_unique<metrics::HttpEndpoint>(*options.metrics, std::move(families));
    } catch (const std::exception&) {
        // The HTTP server's exception does not contain the reason.
        throw Error(
            ErrorCode::listen_failed,
            fmt::format(
                "worker '{}': cannot listen for metrics at {}: the port is in use, or the address "
                "is "
                "not of this host; use another port for each worker, or 0 for any free one",
                options.name,
                metrics::listening_at(*options.metrics)
            )
        );
    }
}

}  // namespace
}  // namespace pawl

#else

namespace pawl {

namespace {

std::unique_ptr<runtime::MetricsEndpoint>
open_endpoint(const WorkerOptions& options, std::shared_ptr<const runtime::WorkerMeters>, std::shared_ptr<seam::Backend>) {
    throw Error(
        ErrorCode::backend_missing,
        fmt::format(
            "worker '{}': this build does not support metrics; build pawl with -DPAWL_METRICS=ON",
            options.name
        )
    );
}

}  // namespace
}  // namespace pawl

#endif

const pawl::detail::MetricsLibrary& pawl::detail::metrics_library() {
    static constexpr MetricsLibrary library{&open_endpoint};
    return library;
}
