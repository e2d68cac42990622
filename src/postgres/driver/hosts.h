// The servers of a URL. libpq tries them one after the other, but in non-blocking mode it waits
// forever for one that does not answer.
#pragma once

#include <string>
#include <vector>

#include "postgres/open_postgres.h"

namespace pawl::postgres {

struct Host {
    std::string host;
    std::string address;  // hostaddr
    std::string port;
    std::string session_attrs;  // required of this server; empty: as in the URL
};

// In the order in which they are tried. One entry without a host if the URL has none or a single
// host, which libpq handles itself. The URL must be valid.
[[nodiscard]] std::vector<Host> hosts_of(const std::string& url);

// Throws Error(invalid_url) with libpq's message, without any part of the password.
void refuse_unreadable(const PostgresTarget& target);

}  // namespace pawl::postgres
