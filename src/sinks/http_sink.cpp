// POSTs events as CloudEvents 1.0. What goes wrong is told without headers and without the URL:
// there may be secrets in both, and in a body that the server sends back.
#include <pawl/outbox.h>

#include "sinks/cloud_event.h"
#include "sinks/http_url.h"

#ifdef PAWL_WITH_HTTP

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <fmt/format.h>
#include <httplib.h>
#include <mutex>
#include <openssl/x509.h>
#include <pawl/version.h>

#include "model/check.h"
#include "model/retry_after.h"

namespace pawl {

namespace {

using sinks::HttpUrl;
using Clock = std::chrono::steady_clock;

constexpr std::size_t most_of_an_answer = 64 * 1024;

// The library writes to sockets that the other side may have closed, and the program need not
// ignore the signal for that: it is held back in this thread, and taken away.
class NoBrokenPipe {
public:
    NoBrokenPipe() {
        sigemptyset(&pipe_);
        sigaddset(&pipe_, SIGPIPE);
        sigset_t pending;
        sigpending(&pending);
        was_pending_ = sigismember(&pending, SIGPIPE) == 1;
        pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
    }
    ~NoBrokenPipe() {
        if (!was_pending_) {
            const timespec at_once{0, 0};
            while (sigtimedwait(&pipe_, nullptr, &at_once) == -1 && errno == EINTR) {
            }
        }
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
    NoBrokenPipe(const NoBrokenPipe&) = delete;
    NoBrokenPipe& operator=(const NoBrokenPipe&) = delete;

private:
    sigset_t pipe_{};
    sigset_t before_{};
    bool was_pending_ = false;
};

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

class HttpSink {
public:
    HttpSink(HttpUrl url, HttpSinkOptions options)
        : url_(std::move(url)), options_(std::move(options)) {
        check_headers(options_.headers);
        if (options_.timeout <= Duration::zero())
            throw Error(ErrorCode::invalid_argument, "the sink's timeout must be above 0");
        model::check_delay("the sink's timeout", options_.timeout);
    }

    SinkResult post(const OutboxEvent& event) {
        auto client = take();
        httplib::Request request = request_for(event);
        const auto started_at = Clock::now();
        std::size_t size = 0;
        request.response_handler = [](const httplib::Response&) { return true; };
        request.content_receiver = [&](const char*, std::size_t bytes, std::uint64_t, std::uint64_t
                                   ) {
            size += bytes;
            return size <= most_of_an_answer && Clock::now() - started_at < options_.timeout;
        };
        httplib::Response response;
        auto error = httplib::Error::Success;
        bool answered = false;
        {
            const NoBrokenPipe guard;
            answered = client->send(request, response, error);
        }
        // Who has sent more than we want to read has answered all the same.
        if (!answered && (error != httplib::Error::Canceled || response.status < 100)) {
            const bool late = Clock::now() - started_at >= options_.timeout;
            return {SinkResult::Kind::retry, in_words(error, late, *client), {}};
        }
        if (answered) give_back(std::move(client));
        return to_result(response);
    }

private:
    using Client = std::unique_ptr<httplib::ClientImpl>;

    // One that is connected already, where there is one: a client serves one call at a time.
    Client take() {
        {
            const std::lock_guard lock(mutex_);
            if (!idle_.empty()) {
                Client client = std::move(idle_.back());
                idle_.pop_back();
                return client;
            }
        }
        Client client;
        if (url_.secure) {
            client = std::make_unique<httplib::SSLClient>(url_.host, url_.port);
            client->enable_server_certificate_verification(options_.verify_tls);
            if (!options_.ca_file.empty()) client->set_ca_cert_path(options_.ca_file);
        } else {
            client = std::make_unique<httplib::ClientImpl>(url_.host, url_.port);
        }
        client->set_connection_timeout(options_.timeout);
        client->set_read_timeout(options_.timeout);
        client->set_write_timeout(options_.timeout);
        client->set_keep_alive(true);
        client->set_tcp_nodelay(true);
        client->set_url_encode(false);  // it is as the user wrote it
        client->set_decompress(false);
        return client;
    }

    void give_back(Client client) {
        const std::lock_guard lock(mutex_);
        idle_.push_back(std::move(client));
    }

    httplib::Request request_for(const OutboxEvent& event) const {
        httplib::Request request;
        request.method = "POST";
        request.path = url_.target;
        request.headers.emplace("User-Agent", "pawl/" PAWL_VERSION);
        if (options_.mode == HttpSinkOptions::Mode::binary) {
            for (const auto& [name, value] : sinks::attributes(event, options_.source))
                request.headers.emplace("ce-" + name, header_text(value));
            request.headers.emplace("Content-Type", "application/json");
            request.body = event.payload.text;
        } else {
            request.headers.emplace("Content-Type", "application/cloudevents+json");
            request.body = to_cloud_event(event, options_.source).text;
        }
        if (event.traceparent)
            request.headers.emplace("traceparent", header_text(*event.traceparent));
        for (const auto& [name, value] : options_.headers) {
            request.headers.erase(name);
            request.headers.emplace(name, value);
        }
        if (url_.login && !request.has_header("Authorization"))
            request.headers.insert(
                httplib::make_basic_authentication_header(url_.login->user, url_.login->password)
            );
        return request;
    }

    static SinkResult to_result(const httplib::Response& response) {
        const int status = response.status;
        if (status >= 200 && status < 300) return {};
        SinkResult result;
        result.error = fmt::format("the server answered {}", status);
        result.kind = status == 408 || status == 429 || status >= 500 ? SinkResult::Kind::retry
                                                                      : SinkResult::Kind::reject;
        const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
        if (result.kind == SinkResult::Kind::retry && response.has_header("Retry-After"))
            result.retry_after = model::retry_after(response.get_header_value("Retry-After"), now);
        return result;
    }

    std::string in_words(httplib::Error error, bool late, const httplib::ClientImpl& client) const {
        const auto limit = options_.timeout.count();
        switch (error) {
            case httplib::Error::Connection:
                return "the server cannot be reached";
            case httplib::Error::ConnectionTimeout:
                return fmt::format("no connection within {} ms", limit);
            case httplib::Error::Read:
                return late ? fmt::format("no answer within {} ms", limit)
                            : "the connection was lost before an answer came";
            case httplib::Error::Write:
                return "the connection was lost while sending";
            case httplib::Error::SSLConnection:
                return "the TLS handshake failed";
            case httplib::Error::SSLLoadingCerts:
                return "the file of trusted certificates cannot be read";
            case httplib::Error::SSLServerVerification:
                return "the server's certificate is not trusted: " + distrust(client);
            case httplib::Error::Success:
            case httplib::Error::Unknown:
            case httplib::Error::BindIPAddress:
            case httplib::Error::ExceedRedirectCount:
            case httplib::Error::Canceled:
            case httplib::Error::UnsupportedMultipartBoundaryChars:
            case httplib::Error::Compression:
                break;
        }
        return "the request failed: " + httplib::to_string(error);
    }

    static std::string distrust(const httplib::ClientImpl& client) {
        const auto* tls = dynamic_cast<const httplib::SSLClient*>(&client);
        const long code = tls == nullptr ? X509_V_OK : tls->get_openssl_verify_result();
        return code == X509_V_OK ? "it is another host's" : X509_verify_cert_error_string(code);
    }

    const HttpUrl url_;
    const HttpSinkOptions options_;
    std::mutex mutex_;
    std::vector<Client> idle_;
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
