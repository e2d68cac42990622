// An HTTP client with a deadline for the whole call and limits on everything that it reads, so that
// a slow or endless answer can neither block a call nor fill the memory. The only user of libcurl.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <pawl/types.h>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace pawl::http {

struct Login {
    std::string user;
    std::string password;
};

struct ClientOptions {
    std::string origin;          // "https://example.org:443"
    std::optional<Login> login;  // basic authentication, unless a request has its own
    Duration timeout{0};         // from the name lookup to the last byte of the answer
    bool verify_tls = true;
    std::string ca_file;                 // defaults to the system's
    std::size_t max_headers = 64 << 10;  // of an answer, with its status line
    std::size_t max_body = 64 << 10;     // of an answer
};

struct Request {
    std::string target;                          // path and query, sent unchanged
    std::map<std::string, std::string> headers;  // checked by the caller
    std::string_view body;
};

struct Response {
    int status = 0;
    std::map<std::string, std::string> headers;  // names in lower case
    std::string body;
    bool complete = true;  // false if the body was cut at its limit or at the deadline
};

// Contains neither the URL, nor headers, nor data from the server, all of which may have secrets.
struct Failure {
    std::string why;
};

// Thread-safe. Keeps connections open; does not follow redirects or use proxies.
class Client {
public:
    explicit Client(ClientOptions options);
    ~Client();
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    [[nodiscard]] std::variant<Response, Failure> post(const Request& request);

private:
    struct Close {
        void operator()(void* handle) const;
    };
    using Handle = std::unique_ptr<void, Close>;  // a CURL*, used by one call at a time

    [[nodiscard]] Handle take();
    void give_back(Handle handle);
    void set_options(void* handle) const;

    const ClientOptions options_;
    std::mutex mutex_;
    std::vector<Handle> idle_;
};

}  // namespace pawl::http
