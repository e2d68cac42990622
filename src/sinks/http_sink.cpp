// POSTs events as CloudEvents 1.0. Errors contain neither headers, nor the URL, nor the server's
// body, all of which may have secrets.
#include <pawl/outbox.h>

#include "sinks/cloud_event.h"
#include "sinks/http_url.h"

#ifdef PAWL_WITH_HTTP

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <pawl/version.h>

#include "http/client.h"
#include "model/check.h"
#include "model/http_retry_after.h"

namespace pawl::inline v0 {

namespace {

using sinks::HttpUrl;

// Encodes a value for a header as CloudEvents requires: only printable ASCII, without '"' and '%'.
std::string header_text(const std::string& value) {
    std::string text;
    for (const char c : value) {
        if (c > ' ' && c < '\x7f' && c != '"' && c != '%') {
            text += c;
        } else {
            text += fmt::format("%{:02X}", static_cast<unsigned char>(c));
        }
    }
    return text;
}

void check_headers(const std::map<std::string, std::string>& headers) {
    const auto is_name = [](char c) {
        return c > ' ' && c < '\x7f' &&
               std::string_view("\"(),/:;<=>?@[\\]{}").find(c) == std::string_view::npos;
    };
    const auto is_value = [](char c) { return (c >= ' ' || c < 0 || c == '\t') && c != '\x7f'; };
    for (const auto& [name, value] : headers) {
        if (name.empty() || !std::ranges::all_of(name, is_name))
            throw Error(ErrorCode::invalid_argument, "the name of a header of the sink is invalid");
        if (!std::ranges::all_of(value, is_value))
            throw Error(
                ErrorCode::invalid_argument,
                fmt::format("the value of header '{}' contains control characters", name)
            );
    }
}

http::ClientOptions client_options(const HttpUrl& url, const HttpSinkOptions& options) {
    check_headers(options.headers);
    if (options.timeout <= Duration::zero())
        throw Error(ErrorCode::invalid_argument, "the sink's timeout must be above 0");
    model::check_delay("the sink's timeout", options.timeout);
    http::ClientOptions client;
    const bool is_v6 = url.host.find(':') != std::string::npos;
    client.origin = fmt::format(
        "{}://{}:{}",
        url.secure ? "https" : "http",
        is_v6 ? "[" + url.host + "]" : url.host,
        url.port
    );
    if (url.login) client.login = http::Login{url.login->user, url.login->password};
    client.timeout = options.timeout;
    client.verify_tls = options.verify_tls;
    client.ca_file = options.ca_file;
    return client;
}

bool same_name(std::string_view one, std::string_view other) {
    return std::ranges::equal(one, other, [](unsigned char a, unsigned char b) {
        return std::tolower(a) == std::tolower(b);
    });
}

class HttpSink {
public:
    HttpSink(const HttpUrl& url, HttpSinkOptions options)
        : target_(url.target),
          options_(std::move(options)),
          client_(client_options(url, options_)) {}

    SinkResult post(const OutboxEvent& event) {
        std::string body;
        http::Request request{target_, headers_for(event), {}};
        if (options_.mode == HttpSinkOptions::Mode::binary) {
            request.body = event.payload.text;
        } else {
            body = to_cloud_event(event, options_.source).text;
            request.body = body;
        }
        const auto answer = client_.post(request);
        if (const auto* failure = std::get_if<http::Failure>(&answer))
            return {SinkResult::Kind::retry, failure->why, {}};
        return to_result(std::get<http::Response>(answer));
    }

private:
    [[nodiscard]] std::map<std::string, std::string> headers_for(const OutboxEvent& event) const {
        std::map<std::string, std::string> headers;
        headers["User-Agent"] = "pawl/" PAWL_VERSION;
        if (options_.mode == HttpSinkOptions::Mode::binary) {
            for (const auto& [name, value] : sinks::attributes(event, options_.source))
                headers["ce-" + name] = header_text(value);
            headers["Content-Type"] = "application/json";
        } else {
            headers["Content-Type"] = "application/cloudevents+json";
        }
        if (event.traceparent) headers["traceparent"] = header_text(*event.traceparent);
        for (const auto& [name, value] : options_.headers) {
            // Named in the capture: clang 14 does not capture the name of a structured binding.
            std::erase_if(headers, [&name = name](const auto& one) {
                return same_name(one.first, name);
            });
            headers[name] = value;
        }
        return headers;
    }

    static SinkResult to_result(const http::Response& response) {
        const int status = response.status;
        if (status >= 200 && status < 300) return {};
        SinkResult result;
        result.error = fmt::format("the server answered {}", status);
        result.kind = status == 408 || status == 429 || status >= 500 ? SinkResult::Kind::retry
                                                                      : SinkResult::Kind::reject;
        const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
        const auto after = response.headers.find("retry-after");
        if (result.kind == SinkResult::Kind::retry && after != response.headers.end())
            result.retry_after = model::retry_after(after->second, now);
        return result;
    }

    const std::string target_;
    const HttpSinkOptions options_;
    http::Client client_;
};

}  // namespace

Sink http_sink(std::string_view target, HttpSinkOptions options) {
    const std::string url(target);
    const auto sink = std::make_shared<HttpSink>(sinks::parse_http_url(url), std::move(options));
    return [sink](const OutboxEvent& event) { return sink->post(event); };
}

}  // namespace pawl::inline v0

#else

namespace pawl::inline v0 {

Sink http_sink(std::string_view url, HttpSinkOptions) {
    (void)sinks::parse_http_url(std::string(url));
    throw Error(
        ErrorCode::backend_missing,
        "this build does not support the HTTP sink; build pawl with -DPAWL_HTTP=ON"
    );
}

}  // namespace pawl::inline v0

#endif
