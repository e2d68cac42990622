#include "model/json_fast_path.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

namespace pawl::model {

TEST(PlainJson, common_results_are_plain) {
    for (const char* text :
         {"null",
          "true",
          "false",
          "0",
          "-7",
          "12.50",
          R"("a text")",
          R"("")",
          "[]",
          "{}",
          R"({"n":1})",
          " { \"a\" : [ 1 , \"b\" , null ] , \"c\" : { } } \n"})
        EXPECT_TRUE(is_plain_json(text)) << text;
}

TEST(PlainJson, complex_texts_are_left_to_the_parser) {
    for (const char* text :
         {R"("a\n")", "\"\xc3\xa9\"", "1e5", "1234567890123456", "0.1234567890123456"})
        EXPECT_FALSE(is_plain_json(text)) << text;
    EXPECT_FALSE(is_plain_json(std::string(100, '[') + std::string(100, ']')));
    EXPECT_FALSE(is_plain_json(std::string_view("\"\0\"", 3)));
}

TEST(PlainJson, text_that_is_not_json_is_never_plain) {
    for (const char* text :
         {"",    " ",  "nul",     "nulll",     "tru",   "01",         "-",         "-01",
          "1.",  ".5", "+1",      "1 2",       "[1,]",  "[,1]",       "[1 2]",     "[",
          "]",   "{",  "{\"a\"}", "{\"a\":}",  "{1:2}", "{\"a\":1,}", "{\"a\" 1}", "\"",
          "\"a", "a",  "[1}",     "{\"a\":1]", "1,2",   "\x7f",       "\"\x7f\"x"})
        EXPECT_FALSE(is_plain_json(text)) << text;
}

// Texts of random pieces of JSON: the parser must accept everything that the fast path accepts.
TEST(PlainJson, every_yes_is_one_of_the_parser_too) {
    const char* const pieces[] = {
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"a\"",
        "\"",
        "1",
        "0",
        "-",
        ".",
        "null",
        "true",
        " ",
        "\\",
        "e",
        "x"};
    std::mt19937 random(20261117);
    int agreed = 0;
    for (int i = 0; i < 300'000; ++i) {
        std::string text;
        const auto length = 1 + random() % 7;
        for (std::size_t k = 0; k < length; ++k) text += pieces[random() % std::size(pieces)];
        if (!is_plain_json(text)) continue;
        ++agreed;
        ASSERT_TRUE(nlohmann::json::accept(text)) << text;
    }
    EXPECT_GT(agreed, 1'000);
}

}  // namespace pawl::model
