#include "store/url.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <pawl/error.h>

#include "base/similar.h"

namespace pawl::store {

namespace {

int hex(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

std::string decode(std::string_view text) {
    std::string decoded;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '%' && i + 2 < text.size() && hex(text[i + 1]) >= 0 &&
            hex(text[i + 2]) >= 0) {
            decoded.push_back(static_cast<char>(hex(text[i + 1]) * 16 + hex(text[i + 2])));
            i += 2;
        } else {
            decoded.push_back(text[i]);
        }
    }
    return decoded;
}

// A raw '@', '/' or '?' in a password shifts the parts of the URL, and errors about the wrong parts
// would show pieces of the password.
void refuse_raw_characters(std::string_view text) {
    const auto host = text.find("://");
    if (host == std::string_view::npos) return;
    const auto end = std::min(text.find_first_of("/?", host + 3), text.size());
    const auto at_sign = text.substr(0, end).find('@', host);
    const auto last_at_sign = text.rfind('@');
    if (last_at_sign == at_sign || last_at_sign == std::string_view::npos) return;
    throw Error(
        ErrorCode::invalid_url,
        fmt::format(
            "the URL '{}' has a raw '@', '/' or '?' in its user or password, or an '@' after the "
            "host; write %40 for '@', %2F for '/', %3F for '?'",
            redacted(text)
        )
    );
}

}  // namespace

Url::Url(const std::string& text) {
    const auto colon = text.find(':');
    if (colon == std::string::npos || colon == 0) refuse_url(text);
    scheme_ = text.substr(0, colon);
    if (scheme_ != "sqlite") refuse_raw_characters(text);
    const auto question = text.find('?', colon);
    rest_ = text.substr(colon + 1, question == std::string::npos ? question : question - colon - 1);
    if (question == std::string::npos) return;
    std::string_view query = std::string_view(text).substr(question + 1);
    while (!query.empty()) {
        const auto part = query.substr(0, query.find('&'));
        query.remove_prefix(std::min(query.size(), part.size() + 1));
        const auto equals = part.find('=');
        if (part.empty()) continue;
        if (equals == std::string_view::npos) {
            throw Error(
                ErrorCode::invalid_url,
                fmt::format("parameter '{}' of the URL has no value; write name=value", part)
            );
        }
        parameters_.emplace_back(part.substr(0, equals), part.substr(equals + 1));
    }
}

std::optional<std::string> Url::take(std::string_view name) {
    known_.emplace_back(name);
    const auto at = std::ranges::find(parameters_, name, [](const auto& p) { return p.first; });
    if (at == parameters_.end()) return std::nullopt;
    std::string value = decode(at->second);
    parameters_.erase(at);
    return value;
}

std::optional<int> Url::take_number(std::string_view name, int least, int most) {
    const auto text = take(name);
    if (!text) return std::nullopt;
    int value = 0;
    const auto [end, problem] = std::from_chars(text->data(), text->data() + text->size(), value);
    if (problem == std::errc() && end == text->data() + text->size() && value >= least &&
        value <= most)
        return value;
    throw Error(
        ErrorCode::invalid_url,
        fmt::format(
            "parameter '{}={}' of the URL must be a number from {} to {}", name, *text, least, most
        )
    );
}

std::string Url::remaining() const {
    std::string text = scheme_ + ":" + rest_;
    char separator = '?';
    for (const auto& [name, value] : parameters_) {
        text.append(1, separator).append(name).append("=").append(value);
        separator = '&';
    }
    return text;
}

void Url::refuse_unknown() const {
    if (parameters_.empty()) return;
    const std::string& name = parameters_.front().first;
    const auto similar = base::most_similar(name, known_);
    throw Error(
        ErrorCode::invalid_url,
        fmt::format(
            "unknown parameter '{}' in the URL; {}known parameters: {}",
            name,
            similar ? fmt::format("did you mean '{}'? ", *similar) : "",
            fmt::join(known_, ", ")
        )
    );
}

void refuse_url(std::string_view url) {
    throw Error(
        ErrorCode::invalid_url,
        fmt::format(
            "'{}' is not the URL of a store; use sqlite:file.db, sqlite::memory: or "
            "postgresql://host/db",
            redacted(url)
        )
    );
}

std::string redacted(std::string_view url) {
    std::string text(url);
    const auto scheme = text.find(':');
    const auto at_sign = text.rfind('@');  // the last one, because a password may contain others
    if (scheme != std::string::npos && at_sign != std::string::npos) {
        const auto colon = text.find(':', scheme + 1);
        if (colon < at_sign) text.replace(colon + 1, at_sign - colon - 1, "***");
    }
    for (auto at = text.find("password="); at != std::string::npos;
         at = text.find("password=", at + 9)) {
        const auto end = std::min(text.find('&', at), text.size());
        text.replace(at + 9, end - at - 9, "***");
    }
    return text;
}

}  // namespace pawl::store
