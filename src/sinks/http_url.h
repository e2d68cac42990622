// The address of an HTTP sink.
#pragma once

#include <optional>
#include <string>

namespace pawl::sinks {

struct HttpUrl {
    bool secure = false;
    std::string host;
    int port = 80;
    std::string target = "/";  // path and query, as they are sent
    struct Login {
        std::string user;
        std::string password;
    };
    std::optional<Login> login;  // never shown
};

// Throws invalid_url, without the URL's text: there may be a password in it.
[[nodiscard]] HttpUrl parse_http_url(const std::string& url);

}  // namespace pawl::sinks
