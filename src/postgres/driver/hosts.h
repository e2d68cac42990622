// The servers of a URL. libpq tries them, and the addresses of each, one after the other, but in
// non-blocking mode it waits forever for one that does not answer.
#pragma once

#include <functional>
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

// The numeric addresses of a host name, in the order in which they are tried; empty if it cannot be
// resolved.
using Resolve = std::function<std::vector<std::string>(const std::string& name)>;
[[nodiscard]] std::vector<std::string> addresses_of(const std::string& name);

// In the order in which they are tried; a name with several addresses has an entry for each. One
// entry without a host if there is only one server to try, which libpq handles itself. The URL must
// be valid.
[[nodiscard]] std::vector<Host> hosts_of(
    const std::string& url, const Resolve& resolve = addresses_of
);

// Throws Error(invalid_url) with libpq's message, without any part of the password.
void refuse_unreadable(const PostgresTarget& target);

}  // namespace pawl::postgres
