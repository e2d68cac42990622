#include "model/json_elements.h"

#include <gtest/gtest.h>

namespace pawl::model {
namespace {

using Elements = std::vector<std::string_view>;

TEST(JsonElementsTest, each_element_keeps_its_text) {
    EXPECT_EQ(json_elements("[1,2.50,\"a\"]"), (Elements{"1", "2.50", "\"a\""}));
    EXPECT_EQ(
        json_elements(" [ 1 ,\n{ \"b\" : [1, 2] } , [ ], null ] "),
        (Elements{"1", "{ \"b\" : [1, 2] }", "[ ]", "null"})
    );
}

TEST(JsonElementsTest, brackets_in_strings_do_not_count) {
    EXPECT_EQ(
        json_elements(R"(["a,b]","\"],[","\\",{"k,]":"}"}])"),
        (Elements{R"("a,b]")", R"("\"],[")", R"("\\")", R"({"k,]":"}"})"})
    );
}

TEST(JsonElementsTest, an_empty_array_has_none) {
    EXPECT_EQ(json_elements("[]"), Elements{});
    EXPECT_EQ(json_elements(" [ \n ] "), Elements{});
}

TEST(JsonElementsTest, values_other_than_arrays_have_no_elements) {
    for (const char* json : {"null", "1", "\"[1]\"", "{\"a\":[1]}", " true "})
        EXPECT_FALSE(json_elements(json)) << json;
}

TEST(JsonElementsTest, the_character_zero_is_found_in_its_escape) {
    EXPECT_TRUE(holds_zero_character(R"({"a":"x\u0000"})"));
    EXPECT_TRUE(holds_zero_character(R"(["\\\u0000"])"));
    EXPECT_FALSE(holds_zero_character(R"(["\\u0000"])")) << "a backslash, then letters";
    EXPECT_FALSE(holds_zero_character(R"(["\u0001", 0])"));
    EXPECT_FALSE(holds_zero_character("\"\\\\\""));
}

TEST(JsonElementsTest, an_array_is_distinguished_from_other_values) {
    EXPECT_TRUE(is_array("[]"));
    EXPECT_TRUE(is_array(" \n[1]"));
    for (const auto* other : {"{}", "null", "1", R"("[]")", ""}) EXPECT_FALSE(is_array(other));
}

}  // namespace
}  // namespace pawl::model
