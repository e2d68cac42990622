// What the templates of pawl/codec.h and pawl/json.h leave to the library.
#include <exception>
#include <fmt/format.h>
#include <new>
#include <pawl/codec.h>
#include <pawl/json.h>

#include "model/run_error.h"

namespace pawl::inline v0::detail {

namespace {

void replace_all(std::string& text, std::string_view from, std::string_view to) {
    for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
        text.replace(at, from.size(), to);
}

}  // namespace

void throw_undecodable(const std::string& what) {
    try {
        throw;
    } catch (const std::bad_alloc&) {
        throw;
    } catch (...) {
        throw Error(
            ErrorCode::serialization_error,
            fmt::format(
                "{} does not decode: {}", what, model::describe(std::current_exception()).message
            )
        );
    }
}

// gcc: "std::string pawl::v0::detail::type_name() [with T = Order; std::string = ...]"
// clang: "std::string pawl::detail::type_name() [T = Order]"
std::string readable_type(std::string_view function) {
    constexpr std::string_view before = "T = ";
    const auto from = function.find(before);
    if (from == std::string_view::npos) return "the type";
    std::string_view type = function.substr(from + before.size());
    const auto alias = type.find("; std::string");
    type = type.substr(0, alias != std::string_view::npos ? alias : type.rfind(']'));
    std::string text(type);
    replace_all(text, "{anonymous}::", "");
    replace_all(text, "(anonymous namespace)::", "");
    replace_all(text, "std::__cxx11::basic_string<char>", "std::string");
    replace_all(text, "std::basic_string<char>", "std::string");
    replace_all(text, " >", ">");
    return text;
}

// "[json.exception.type_error.302] type must be number, but is string"
std::string plain_message(const std::exception& error) {
    std::string text = error.what();
    const auto end = text.find("] ");
    if (text.starts_with("[json.exception.") && end != std::string::npos) text.erase(0, end + 2);
    return text;
}

std::string missing_member(const std::exception& error) {
    constexpr std::string_view before = "key '";
    constexpr std::string_view after = "' not found";
    // "[json.exception.out_of_range.403] key 'name' not found". The type of the exception cannot be
    // asked for: the program may have another version of nlohmann::json than the library.
    const std::string text = error.what();
    if (!text.starts_with("[json.exception.out_of_range.403]")) return {};
    const auto from = text.find(before);
    const auto to = text.rfind(after);
    if (from == std::string::npos || to == std::string::npos || to <= from + before.size())
        return {};
    return text.substr(from + before.size(), to - from - before.size());
}

}  // namespace pawl::inline v0::detail
