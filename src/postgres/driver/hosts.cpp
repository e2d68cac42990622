#include "postgres/driver/hosts.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <netdb.h>
#include <pawl/error.h>
#include <sys/socket.h>

#include "postgres/driver/handles.h"
#include "store/url.h"

namespace pawl::postgres {

namespace {

using Options = std::unique_ptr<PQconninfoOption, Deleter<PQconninfoFree>>;

std::string find_value(const Options& options, std::string_view keyword) {
    for (const PQconninfoOption* option = options.get(); option && option->keyword; ++option) {
        if (keyword == option->keyword && option->val) return option->val;
    }
    return {};
}

std::vector<std::string> split(const std::string& list) {
    std::vector<std::string> parts;
    std::size_t begin = 0;
    for (auto comma = list.find(','); comma != std::string::npos; comma = list.find(',', begin)) {
        parts.push_back(list.substr(begin, comma - begin));
        begin = comma + 1;
    }
    parts.push_back(list.substr(begin));
    return parts;
}

// A single port applies to all hosts.
std::string part(const std::vector<std::string>& parts, std::size_t index) {
    if (parts.size() == 1) return parts.front();
    return index < parts.size() ? parts[index] : std::string();
}

bool is_socket_directory(const std::string& host) {
    return host.empty() || host.front() == '/' || host.front() == '@';
}

using Addresses = std::unique_ptr<addrinfo, Deleter<freeaddrinfo>>;

// One entry per address. A name that has one address, or none, is left to libpq: it connects, or
// says why it cannot.
std::vector<Host> with_addresses(const Host& host, const Resolve& resolve) {
    if (!host.address.empty() || is_socket_directory(host.host)) return {host};
    const auto addresses = resolve(host.host);
    if (addresses.size() < 2) return {host};
    std::vector<Host> entries;
    for (const std::string& address : addresses)
        entries.push_back({host.host, address, host.port, host.session_attrs});
    return entries;
}

}  // namespace

std::vector<std::string> addresses_of(const std::string& name) {
    addrinfo wanted{};
    wanted.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (getaddrinfo(name.c_str(), nullptr, &wanted, &found) != 0) return {};
    const Addresses owner(found);
    std::vector<std::string> addresses;
    for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
        std::array<char, NI_MAXHOST> text{};
        if (getnameinfo(
                entry->ai_addr,
                entry->ai_addrlen,
                text.data(),
                text.size(),
                nullptr,
                0,
                NI_NUMERICHOST
            ) != 0)
            continue;
        if (std::ranges::find(addresses, text.data()) == addresses.end())
            addresses.emplace_back(text.data());
    }
    return addresses;
}

std::vector<Host> hosts_of(const std::string& url, const Resolve& resolve) {
    const Options given(PQconninfoParse(url.c_str(), nullptr));
    const Options defaults(PQconndefaults());  // PGHOST and similar variables
    const auto value = [&](std::string_view keyword) {
        std::string found = find_value(given, keyword);
        return found.empty() ? find_value(defaults, keyword) : found;
    };
    const auto names = split(value("host"));
    const auto addresses = split(value("hostaddr"));
    const auto ports = split(value("port"));
    std::vector<Host> hosts;
    for (std::size_t i = 0; i < std::max(names.size(), addresses.size()); ++i) {
        const auto at = [&](const auto& parts) {
            return i < parts.size() ? parts[i] : std::string();
        };
        const Host host{at(names), at(addresses), part(ports, i), {}};
        for (Host& entry : with_addresses(host, resolve)) hosts.push_back(std::move(entry));
    }
    if (hosts.size() == 1) return {Host{}};
    if (value("target_session_attrs") != "prefer-standby") return hosts;
    // It applies to the set of hosts: a standby first, then any of them.
    std::vector<Host> passes;
    for (const char* const session_attrs : {"standby", "any"}) {
        for (const Host& host : hosts)
            passes.push_back({host.host, host.address, host.port, session_attrs});
    }
    return passes;
}

void refuse_unreadable(const PostgresTarget& target) {
    const std::string& url = target.url;
    if (Options(PQconninfoParse(url.c_str(), nullptr))) return;
    // libpq's message about the URL without its password contains no secret.
    const std::string shown = store::redacted(url);
    char* message = nullptr;
    const Options parsed(PQconninfoParse(shown.c_str(), &message));
    std::string why = message ? message : "the password cannot be read";
    PQfreemem(message);
    while (!why.empty() && (why.back() == '\n' || why.back() == ' ')) why.pop_back();
    const bool unknown = why.find("URI query parameter") != std::string::npos;
    throw Error(
        ErrorCode::invalid_url,
        fmt::format(
            "libpq cannot read the URL '{}': {}; {}",
            shown,
            why,
            unknown ? fmt::format(
                          "use a connection parameter of libpq, or one of pawl: {}",
                          fmt::join(target.own_parameters, ", ")
                      )
                    : "write special characters as %XX"
        )
    );
}

}  // namespace pawl::postgres
