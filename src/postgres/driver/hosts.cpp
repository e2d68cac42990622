#include "postgres/driver/hosts.h"

#include <algorithm>
#include <fmt/format.h>
#include <pawl/error.h>

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

}  // namespace

std::vector<Host> hosts_of(const std::string& url) {
    const Options given(PQconninfoParse(url.c_str(), nullptr));
    const Options defaults(PQconndefaults());  // PGHOST and similar variables
    const auto value = [&](std::string_view keyword) {
        std::string found = find_value(given, keyword);
        return found.empty() ? find_value(defaults, keyword) : found;
    };
    const auto names = split(value("host"));
    const auto addresses = split(value("hostaddr"));
    const auto ports = split(value("port"));
    const std::size_t count = std::max(names.size(), addresses.size());
    if (count == 1) return {Host{}};
    std::vector<Host> hosts;
    const auto add_all = [&](const std::string& session_attrs) {
        for (std::size_t i = 0; i < count; ++i) {
            const auto at = [&](const auto& parts) {
                return i < parts.size() ? parts[i] : std::string();
            };
            hosts.push_back({at(names), at(addresses), part(ports, i), session_attrs});
        }
    };
    if (value("target_session_attrs") == "prefer-standby") {  // of the set of hosts
        add_all("standby");
        add_all("any");
    } else {
        add_all({});
    }
    return hosts;
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
