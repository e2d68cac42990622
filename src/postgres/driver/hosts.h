// The servers that a URL names: libpq tries them one after the other, but waits for a silent one
// forever if it is used without blocking.
#pragma once

#include <string>
#include <vector>

namespace pawl::postgres {

struct Host {
    std::string host;
    std::string address;  // hostaddr
    std::string port;
    std::string session_attrs;  // what is asked of this server; empty: what the URL says
};

// In the order in which they are tried. One without a host if the URL names none or a single one:
// libpq needs no help then. The URL must be readable.
[[nodiscard]] std::vector<Host> hosts_of(const std::string& url);

// Throws Error(invalid_url) with libpq's words, without any part of the password.
void refuse_unreadable(const std::string& url);

}  // namespace pawl::postgres
