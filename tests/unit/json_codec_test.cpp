// The JSON forms of <pawl/json.h>: what is exact, what is refused, and with which words.
#include <chrono>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <optional>
#include <pawl/json.h>
#include <stdexcept>
#include <string>
#include <vector>

namespace pawl::test {

struct InnerValue {
    int count = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(InnerValue, count)
struct OuterValue {
    std::string name;
    InnerValue inner;
    std::chrono::seconds limit{};
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(OuterValue, name, inner, limit)

struct Colour {
    std::string name;
};
void to_json(nlohmann::json& json, const Colour& colour) {
    json = colour.name;
}
void from_json(const nlohmann::json& json, Colour&) {
    throw std::invalid_argument("no such colour: " + json.get<std::string>());
}

// A type of the user's own with his own serializer for durations of it.
using Frames = std::chrono::duration<long, std::ratio<1, 30>>;
using OwnTicks = std::chrono::duration<short, std::ratio<1, 10>>;

}  // namespace pawl::test

template <>
struct nlohmann::adl_serializer<pawl::test::OwnTicks> {
    static void to_json(json& json, const pawl::test::OwnTicks& ticks) { json = ticks.count(); }
    static void from_json(const json& json, pawl::test::OwnTicks& ticks) {
        ticks = pawl::test::OwnTicks(json.get<short>());
    }
};

namespace pawl::test::codec {
namespace {

using namespace std::chrono;

template <class T>
std::string text(const T& value) {
    return JsonCodec<T>::encode(value).text;
}
template <class T>
T value(const std::string& json) {
    return JsonCodec<T>::decode(Json{json});
}
template <class T>
std::string refusal(const std::string& json) {
    try {
        (void)value<T>(json);
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::serialization_error);
        return error.what();
    }
    return "no error";
}

TEST(JsonCodecTest, durations_convert_between_units_only_if_that_is_exact) {
    EXPECT_EQ(value<milliseconds>(R"("2s")"), 2s);
    EXPECT_EQ(value<hours>(R"("7200s")"), 2h);
    EXPECT_EQ(value<seconds>(R"("2d")"), 48h);
    EXPECT_EQ(value<years>(text(years(3))), years(3));
    EXPECT_EQ(value<duration<double>>(R"("1500ms")").count(), 1.5);
    EXPECT_TRUE(refusal<seconds>(R"("1500ms")")
                    .ends_with("'1500ms' cannot be represented exactly in this type"));
    EXPECT_TRUE(refusal<nanoseconds>(R"("9223372036854775807s")").ends_with("in this type"));
    using Small = duration<std::int8_t>;
    EXPECT_TRUE(refusal<Small>(R"("200s")").ends_with("out of the range of the type"));
    EXPECT_EQ(value<Small>(text(Small(-128))), Small(-128));
    for (const char* bad : {R"("")", R"("ms")", R"("5")", R"("5x")", R"("five s")", R"("5 s")"})
        EXPECT_NE(refusal<seconds>(bad), "no error") << bad;
    EXPECT_TRUE(refusal<seconds>("5").ends_with("type must be string, but is number"));
}

TEST(JsonCodecTest, durations_of_floating_point_are_exact) {
    for (const double number : {0.1, 1e300, -2.5, 1.0 / 3, 5e-324}) {
        const duration<double> time(number);
        EXPECT_EQ(value<duration<double>>(text(time)), time) << text(time);
        const duration<float> less(static_cast<float>(number));
        if (std::isfinite(less.count())) {
            EXPECT_EQ(value<duration<float>>(text(less)), less) << text(less);
        }
    }
    const duration<double> infinite(std::numeric_limits<double>::infinity());
    EXPECT_THROW(text(infinite), Error);
}

TEST(JsonCodecTest, time_points_read_what_others_write) {
    const sys_seconds noon = sys_days(2026y / 1 / 31) + 12h;
    EXPECT_EQ(value<sys_seconds>(R"("2026-01-31T12:00:00Z")"), noon);
    EXPECT_EQ(value<sys_seconds>(R"("2026-01-31T14:00:00+02:00")"), noon);
    EXPECT_EQ(value<sys_seconds>(R"("2026-01-31T06:30:00.000-05:30")"), noon);
    EXPECT_EQ(value<system_clock::time_point>(R"("2026-01-31T12:00:00.25Z")"), noon + 250ms);
    EXPECT_EQ(text(sys_days(0y / 1 / 1)), R"("0000-01-01T00:00:00Z")");
    EXPECT_EQ(text(sys_time<milliseconds>(-1ms)), R"("1969-12-31T23:59:59.999Z")");
    EXPECT_TRUE(refusal<sys_seconds>(R"("2026-01-31T12:00:00.5Z")").ends_with("in this type"));
    EXPECT_TRUE(refusal<system_clock::time_point>(R"("9999-01-31T12:00:00Z")").ends_with("type"));
    for (const char* bad :
         {R"("2026-02-30T12:00:00Z")",
          R"("2026-01-31 12:00:00Z")",
          R"("2026-01-31T12:00:00")",
          R"("2026-01-31T12:00:60Z")",
          R"("2026-01-31T12:00:00Zz")",
          R"("26-01-31T12:00:00Z")",
          R"("-026-01-31T12:00:00Z")",
          R"("")"})
        EXPECT_NE(refusal<sys_seconds>(bad), "no error") << bad;
    EXPECT_THROW(text(Timestamp::max()), Error) << "the year 294247";
}

TEST(JsonCodecTest, a_serializer_of_the_user_takes_precedence) {
    EXPECT_EQ(text(OwnTicks(7)), "7");
    EXPECT_EQ(value<OwnTicks>("7"), OwnTicks(7));
}

TEST(JsonCodecTest, types_without_an_exact_form_have_none) {
    EXPECT_FALSE(JsonCodec<Frames>::writes) << "a 30th of a second is no whole number of ns";
    EXPECT_FALSE(JsonCodec<std::optional<std::optional<int>>>::writes);
    EXPECT_FALSE(JsonCodec<steady_clock::time_point>::writes);
    EXPECT_FALSE(JsonCodec<int*>::writes);
    EXPECT_TRUE((JsonCodec<std::map<std::string, std::optional<seconds>>>::reads));
}

TEST(JsonCodecTest, errors_name_the_type_and_the_member) {
    EXPECT_EQ(
        refusal<OuterValue>(R"({"name":"a","inner":{"count":"x"},"limit":"1s"})"),
        "cannot convert JSON to pawl::test::OuterValue: member 'inner': type must be number, but "
        "is "
        "string"
    );
    EXPECT_EQ(
        refusal<OuterValue>(R"({"name":"a","inner":{"count":1},"limit":"1x"})"),
        "cannot convert JSON to pawl::test::OuterValue: member 'limit': '1x' is not a duration "
        "such as "
        "'1500ms'; the units are ns, us, ms, s, m, h and d"
    );
    EXPECT_EQ(
        refusal<OuterValue>(R"({"name":"a","limit":"1s"})"),
        "cannot convert JSON to pawl::test::OuterValue: member 'inner' is missing"
    );
    EXPECT_EQ(
        refusal<Colour>(R"("plaid")"),
        "cannot convert JSON to pawl::test::Colour: no such colour: plaid"
    );
    EXPECT_EQ(
        refusal<std::vector<std::string>>("[1]"),
        "cannot convert JSON to std::vector<std::string>: type must be string, but is number"
    );
    EXPECT_TRUE(refusal<int>("{").starts_with("cannot convert JSON to int: parse error at line 1"));
    EXPECT_THROW(text(std::string("\xff")), Error);
}

}  // namespace
}  // namespace pawl::test::codec
