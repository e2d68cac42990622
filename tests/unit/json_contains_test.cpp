// Containment of JSON as in PostgreSQL's documentation of jsonb @>. tests/postgres compares with
// the server.
#include "model/json_contains.h"

#include "support/expect.h"

namespace pawl::test {
namespace {

bool in(const std::string& value, const std::string& pattern) {
    return model::contains(Json{value}, Json{pattern});
}

TEST(JsonContainsTest, plain_values_contain_what_is_equal) {
    EXPECT_TRUE(in(R"("foo")", R"("foo")"));
    EXPECT_TRUE(in("1", "1"));
    EXPECT_TRUE(in("1", "1.0"));
    EXPECT_TRUE(in("100", "1e2"));
    EXPECT_TRUE(in("null", "null"));
    EXPECT_TRUE(in("true", "true"));
    EXPECT_FALSE(in("true", "false"));
    EXPECT_FALSE(in("1", "true"));
    EXPECT_FALSE(in("1", R"("1")"));
    EXPECT_FALSE(in("0", "null"));
    EXPECT_FALSE(in("{}", "null"));
}

TEST(JsonContainsTest, arrays_ignore_order_and_repetition) {
    EXPECT_TRUE(in("[1,2,3]", "[1,3]"));
    EXPECT_TRUE(in("[1,2,3]", "[3,1]"));
    EXPECT_TRUE(in("[1,2,3]", "[1,2,2]"));
    EXPECT_TRUE(in("[1,2,3]", "[]"));
    EXPECT_TRUE(in("[]", "[]"));
    EXPECT_FALSE(in("[]", "[1]"));
    EXPECT_FALSE(in("[1,2]", "[1,3]"));
}

TEST(JsonContainsTest, nesting_must_match) {
    EXPECT_FALSE(in("[1,2,[1,3]]", "[1,3]"));
    EXPECT_TRUE(in("[1,2,[1,3]]", "[[1,3]]"));
    EXPECT_TRUE(in("[1,2,[1,3]]", "[[3]]"));
    EXPECT_FALSE(in(R"({"foo":{"bar":"baz"}})", R"({"bar":"baz"})"));
    EXPECT_TRUE(in(R"({"foo":{"bar":"baz"}})", R"({"foo":{}})"));
    EXPECT_FALSE(in("[[]]", "[1]"));
    EXPECT_TRUE(in("[[1]]", "[[]]"));
    EXPECT_FALSE(in("[1]", "[[]]"));
    EXPECT_FALSE(in("[1]", "[{}]"));
}

TEST(JsonContainsTest, objects_need_every_member_of_the_pattern) {
    const std::string value = R"({"product":"pawl","version":9.4,"jsonb":true})";
    EXPECT_TRUE(in(value, R"({"version":9.4})"));
    EXPECT_TRUE(in(value, R"({"jsonb":true,"product":"pawl"})"));
    EXPECT_TRUE(in(value, "{}"));
    EXPECT_FALSE(in(value, R"({"version":9})"));
    EXPECT_FALSE(in(value, R"({"version":9.4,"x":null})"));
    EXPECT_FALSE(in("{}", R"({"x":null})"));
    EXPECT_TRUE(in(R"({"x":null})", R"({"x":null})"));
    EXPECT_FALSE(in("{}", "[]"));
    EXPECT_FALSE(in("[]", "{}"));
}

TEST(JsonContainsTest, objects_inside_of_arrays_are_contained_in_one_element) {
    const std::string value = R"([{"a":1,"b":2},{"a":3}])";
    EXPECT_TRUE(in(value, R"([{"a":3}])"));
    EXPECT_TRUE(in(value, R"([{"a":1},{"b":2}])")) << "both in the same";
    EXPECT_FALSE(in(value, R"([{"a":3,"b":2}])"));
    EXPECT_TRUE(in(R"({"t":[{"n":"x","v":[1,2]}]})", R"({"t":[{"v":[2]}]})"));
}

TEST(JsonContainsTest, an_array_contains_a_plain_value_at_the_top_only) {
    EXPECT_TRUE(in(R"(["foo","bar"])", R"("bar")"));
    EXPECT_TRUE(in("[null]", "null"));
    EXPECT_FALSE(in(R"("bar")", R"(["bar"])"));
    EXPECT_FALSE(in(R"([["bar"]])", R"("bar")"));
    EXPECT_FALSE(in(R"({"a":["x"]})", R"({"a":"x"})"));
    EXPECT_FALSE(in(R"([["x"]])", R"(["x"])"));
    EXPECT_FALSE(in("[1]", "{}"));
}

TEST(JsonContainsTest, text_is_compared_as_it_is_meant) {
    EXPECT_TRUE(in(R"({"a":"\u00e4"})", R"({"a":"ä"})"));
    EXPECT_TRUE(in(R"({"a":1,"a":2})", R"({"a":2})")) << "the last of two members counts";
    EXPECT_FALSE(in(R"({"a":1,"a":2})", R"({"a":1})"));
}

}  // namespace
}  // namespace pawl::test
