#include "sinks/http_url.h"

#include <algorithm>
#include <charconv>
#include <pawl/error.h>
#include <string_view>

namespace pawl::sinks {

namespace {

[[noreturn]] void refuse(const std::string& what) {
    throw Error(ErrorCode::invalid_url, "the URL of the sink is invalid: " + what);
}

int hex(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

std::string percent_decoded(std::string_view text) {
    std::string decoded;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            decoded += text[i];
            continue;
        }
        if (i + 2 >= text.size() || hex(text[i + 1]) < 0 || hex(text[i + 2]) < 0)
            refuse("a '%' in it is not followed by two hexadecimal digits");
        decoded += static_cast<char>(hex(text[i + 1]) * 16 + hex(text[i + 2]));
        i += 2;
    }
    return decoded;
}

HttpUrl::Login parse_login(std::string_view text) {
    const auto colon = text.find(':');
    if (colon == std::string_view::npos) return {percent_decoded(text), ""};
    return {percent_decoded(text.substr(0, colon)), percent_decoded(text.substr(colon + 1))};
}

int parse_port(std::string_view text) {
    int port = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, port);
    if (error != std::errc() || rest != end || port < 1 || port > 65535)
        refuse("the port must be 1 to 65535");
    return port;
}

void parse_host(std::string_view text, HttpUrl& url) {
    std::string_view rest;
    if (text.starts_with('[')) {  // IPv6
        const auto end = text.find(']');
        if (end == std::string_view::npos) refuse("the address has no closing ']'");
        url.host = text.substr(1, end - 1);
        rest = text.substr(end + 1);
    } else {
        const auto colon = std::min(text.find(':'), text.size());
        url.host = text.substr(0, colon);
        rest = text.substr(colon);
    }
    if (url.host.empty()) refuse("it has no host");
    if (rest.empty()) return;
    if (!rest.starts_with(':')) refuse("the host must be followed by ':' and a port, or by a path");
    url.port = parse_port(rest.substr(1));
}

}  // namespace

HttpUrl parse_http_url(const std::string& text) {
    const auto printable = [](char c) { return c > ' ' && c < '\x7f'; };
    if (!std::ranges::all_of(text, printable))
        refuse("blanks, control and non-ASCII characters must be percent-encoded, such as %20");
    HttpUrl url;
    std::string_view rest = text;
    if (rest.starts_with("http://")) {
        rest.remove_prefix(7);
    } else if (rest.starts_with("https://")) {
        rest.remove_prefix(8);
        url.secure = true;
        url.port = 443;
    } else {
        refuse("it must begin with http:// or https://");
    }
    rest = rest.substr(0, rest.find('#'));
    const auto end = std::min(rest.find_first_of("/?"), rest.size());
    std::string_view authority = rest.substr(0, end);
    const std::string_view target = rest.substr(end);
    if (!target.empty()) url.target = (target.front() == '?' ? "/" : "") + std::string(target);
    if (const auto at = authority.rfind('@'); at != std::string_view::npos) {
        url.login = parse_login(authority.substr(0, at));
        authority.remove_prefix(at + 1);
    }
    parse_host(authority, url);
    return url;
}

}  // namespace pawl::sinks
