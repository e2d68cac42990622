#include "twin/ids.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>

namespace pawl::test::twin {

namespace {

using Value = nlohmann::ordered_json;

struct IdWord {
    std::string_view word;
    IdKind kind;
};
constexpr std::array id_words{
    IdWord{"run ", IdKind::message},
    IdWord{"run:", IdKind::message},
    IdWord{"message ", IdKind::message},
    IdWord{"worker ", IdKind::worker},
    IdWord{"event ", IdKind::outbox},
};
constexpr std::array id_members{"run_id", "run", "message_id", "parent", "origin"};

bool is_digit(char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

bool is_uuid(const std::string& text) {
    if (text.size() != 36) return false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? text[i] != '-' : std::isxdigit(static_cast<unsigned char>(text[i])) == 0)
            return false;
    }
    return true;
}

Value replaced(const Value& value, Ids& ids) {
    if (value.is_string()) return ids.text(value.get<std::string>());
    if (value.is_array()) {
        Value all = Value::array();
        for (const Value& element : value) all.push_back(replaced(element, ids));
        return all;
    }
    if (!value.is_object()) return value;
    Value all = Value::object();
    for (const auto& [name, member] : value.items()) {
        if (name == "by") continue;
        const bool is_id =
            member.is_number_integer() && std::ranges::find(id_members, name) != id_members.end();
        all[name] = is_id ? Value(ids.of(IdKind::message, member.get<std::int64_t>()))
                          : replaced(member, ids);
    }
    return all;
}

}  // namespace

std::string Ids::of(IdKind kind, std::int64_t id) {
    if (id == 0) return "-";
    const auto [place, is_new] = numbers_.try_emplace({kind, id}, 0);
    if (is_new) place->second = ++last_[kind];
    return "mqwo"[static_cast<int>(kind)] + std::to_string(place->second);
}

std::string Ids::uuid(const std::string& text) {
    if (!is_uuid(text)) return text;
    const auto [place, is_new] = uuids_.try_emplace(text, 0);
    if (is_new) place->second = static_cast<int>(uuids_.size());
    return "u" + std::to_string(place->second);
}

std::string Ids::text(std::string_view text) {
    std::string result;
    while (!text.empty()) {
        const auto* const found = std::ranges::find_if(id_words, [&](const IdWord& word) {
            return text.starts_with(word.word) && text.size() > word.word.size() &&
                   is_digit(text[word.word.size()]);
        });
        if (found == id_words.end()) {
            result += text.front();
            text.remove_prefix(1);
            continue;
        }
        result += found->word;
        text.remove_prefix(found->word.size());
        const std::string digits(text.begin(), std::ranges::find_if_not(text, is_digit));
        text.remove_prefix(digits.size());
        const bool is_place = text.starts_with(" of the batch");
        result += is_place || digits.size() > 18 ? digits : of(found->kind, std::stoll(digits));
    }
    return result;
}

std::string Ids::json(const std::string& text) {
    const Value value = Value::parse(text, nullptr, false);
    if (value.is_discarded()) return "not JSON: " + text;
    return replaced(value, *this).dump();
}

}  // namespace pawl::test::twin
