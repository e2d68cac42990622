// The URL of an HTTP sink.
#pragma once

#include <optional>
#include <pawl/export.h>
#include <string>

namespace pawl::sinks {

struct HttpUrl {
    bool secure = false;
    std::string host;
    int port = 80;
    std::string target = "/";  // path and query, sent unchanged
    struct Login {
        std::string user;
        std::string password;
    };
    std::optional<Login> login;  // never in messages
};

// Throws invalid_url, without the URL's text, which may have a password. Exported for pawl::http.
[[nodiscard]] PAWL_EXPORT HttpUrl parse_http_url(const std::string& url);

}  // namespace pawl::sinks
