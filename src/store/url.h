// A store's URL, taken apart. Never shown as it is: it may hold a password.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl::store {

class Url {
public:
    // Throws Error(invalid_url).
    explicit Url(const std::string& text);

    [[nodiscard]] const std::string& scheme() const { return scheme_; }
    [[nodiscard]] const std::string& rest() const { return rest_; }  // between scheme: and ?
    // Takes a parameter out, percent-decoded.
    [[nodiscard]] std::optional<std::string> take(std::string_view name);
    [[nodiscard]] std::optional<int> take_number(std::string_view name, int least, int most);
    // What is left, put together again.
    [[nodiscard]] std::string remaining() const;
    // Throws Error(invalid_url) naming the first parameter that nobody took.
    void refuse_unknown() const;

private:
    std::string scheme_;
    std::string rest_;
    std::vector<std::pair<std::string, std::string>> parameters_;
};

// The URL with its password replaced by ***.
[[nodiscard]] std::string redacted(std::string_view url);

}  // namespace pawl::store
