// POSTs events as CloudEvents 1.0. Errors show neither headers nor the URL: there may be secrets in
// both, and in a body that the server sends back.
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

namespace pawl {

namespace {

using sinks::HttpUrl;

// As CloudEvents asks for in headers: only printable ASCII, without '"' and '%'.
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
            throw Error(ErrorCode::invalid_argument, "a header's name is not understood");
        if (!std::ranges::all_of(value, is_value))
            throw Error(
                ErrorCode::invalid_argument,
                fmt::format("the value of header '{}' holds control characters", name)
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
            std::erase_if(headers, [&](const auto& one) { return same_name(one.first, name); });
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

Sink http_sink(const std::string& url, HttpSinkOptions options) {
    const auto sink = std::make_shared<HttpSink>(sinks::parse_http_url(url), std::move(options));
    return [sink](const OutboxEvent& event) { return sink->post(event); };
}

}  // namespace pawl

#else

namespace pawl {

Sink http_sink(const std::string& url, HttpSinkOptions) {
    (void)sinks::parse_http_url(url);
    throw Error(
        ErrorCode::backend_missing,
        "this build of pawl has no HTTP sink: build it with -DPAWL_HTTP=ON"
    );
}

}  // namespace pawl

#endif
