#include "model/json_fast_path.h"

#include <cstddef>

namespace pawl::model {

namespace {

constexpr int deepest = 32;
constexpr std::size_t most_digits = 15;  // such numbers are exact doubles

class Reader {
public:
    explicit Reader(std::string_view text) : left_(text) {}

    bool whole() {
        if (!value(0)) return false;
        skip_blanks();
        return left_.empty();
    }

private:
    bool value(int depth) {
        skip_blanks();
        if (left_.empty() || depth > deepest) return false;
        switch (left_.front()) {
            case '{':
                return list(depth, '}', &Reader::member);
            case '[':
                return list(depth, ']', &Reader::value);
            case '"':
                return string();
            case 't':
                return word("true");
            case 'f':
                return word("false");
            case 'n':
                return word("null");
            default:
                return number();
        }
    }

    bool list(int depth, char closing, bool (Reader::*item)(int)) {
        left_.remove_prefix(1);
        skip_blanks();
        if (took(closing)) return true;
        do {
            if (!(this->*item)(depth + 1)) return false;
            skip_blanks();
        } while (took(','));
        return took(closing);
    }
    bool member(int depth) {
        skip_blanks();
        if (!string()) return false;
        skip_blanks();
        return took(':') && value(depth);
    }

    bool string() {
        if (!took('"')) return false;
        for (std::size_t i = 0; i < left_.size(); ++i) {
            const char c = left_[i];
            if (c == '"') return left_.remove_prefix(i + 1), true;
            if (c < ' ' || c > '~' || c == '\\') return false;
        }
        return false;
    }
    bool number() {
        (void)took('-');
        const bool leading_zero = !left_.empty() && left_.front() == '0';
        const std::size_t whole = digits();
        if (whole == 0 || whole > most_digits || (leading_zero && whole > 1)) return false;
        if (took('.')) {
            const std::size_t behind = digits();
            if (behind == 0 || whole + behind > most_digits) return false;
        }
        return left_.empty() || (left_.front() != 'e' && left_.front() != 'E');
    }
    std::size_t digits() {
        std::size_t count = 0;
        while (count < left_.size() && left_[count] >= '0' && left_[count] <= '9') ++count;
        left_.remove_prefix(count);
        return count;
    }

    bool word(std::string_view expected) {
        if (!left_.starts_with(expected)) return false;
        left_.remove_prefix(expected.size());
        return true;
    }
    bool took(char c) {
        if (left_.empty() || left_.front() != c) return false;
        left_.remove_prefix(1);
        return true;
    }
    void skip_blanks() {
        while (!left_.empty() && (left_.front() == ' ' || left_.front() == '\n' ||
                                  left_.front() == '\t' || left_.front() == '\r'))
            left_.remove_prefix(1);
    }

    std::string_view left_;
};

}  // namespace

bool is_plain_json(std::string_view text) {
    return Reader(text).whole();
}

}  // namespace pawl::model
