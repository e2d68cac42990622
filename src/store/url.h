// A parsed store URL. Never shown as a whole, because it may have a password.
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
    // Removes a parameter and returns its percent-decoded value.
    [[nodiscard]] std::optional<std::string> take(std::string_view name);
    [[nodiscard]] std::optional<int> take_number(std::string_view name, int least, int most);
    // The URL with the parameters that were not taken.
    [[nodiscard]] std::string remaining() const;
    // The names of the parameters that were taken, or looked for.
    [[nodiscard]] const std::vector<std::string>& known() const { return known_; }
    // Throws Error(invalid_url) with the first parameter that was not taken.
    void refuse_unknown() const;

private:
    std::string scheme_;
    std::string rest_;
    std::vector<std::pair<std::string, std::string>> parameters_;
    std::vector<std::string> known_;  // names that were asked for
};

// Throws Error(invalid_url): the text does not name a store.
[[noreturn]] void refuse_url(std::string_view url);

// The URL with its password replaced by ***.
[[nodiscard]] std::string redacted(std::string_view url);

}  // namespace pawl::store
