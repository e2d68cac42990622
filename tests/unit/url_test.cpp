#include "store/url.h"

#include "support/expect.h"

namespace pawl::test {
namespace {

using store::redacted;
using store::Url;

TEST(UrlTest, a_url_is_taken_apart) {
    Url url("postgresql://ada@host:5432/db?schema=tenant&sslmode=require");
    EXPECT_EQ(url.scheme(), "postgresql");
    EXPECT_EQ(url.rest(), "//ada@host:5432/db");
    EXPECT_EQ(url.take("schema"), "tenant");
    EXPECT_FALSE(url.take("schema").has_value());
    EXPECT_EQ(url.remaining(), "postgresql://ada@host:5432/db?sslmode=require");
}

TEST(UrlTest, values_are_percent_decoded_and_the_rest_is_left_alone) {
    Url url("sqlite:a%20b.db?x=1%2B2%zz&y=%41");
    EXPECT_EQ(url.take("x"), "1+2%zz");
    EXPECT_EQ(url.remaining(), "sqlite:a%20b.db?y=%41");
}

TEST(UrlTest, numbers_are_checked) {
    EXPECT_EQ(Url("s:?n=7").take_number("n", 1, 9), 7);
    EXPECT_FALSE(Url("s:?m=7").take_number("n", 1, 9).has_value());
    for (const std::string value : {"0", "10", "7x", "", "-1", "99999999999999"})
        EXPECT_EQ(
            error_of([&] { (void)Url("s:?n=" + value).take_number("n", 1, 9); }).code(),
            ErrorCode::invalid_url
        );
}

TEST(UrlTest, unknown_parameters_are_refused_by_name) {
    Url url("s:x?bussy_timeout=9");
    (void)url.take("busy_timeout");
    (void)url.take("schema");
    EXPECT_STREQ(
        error_of([&] { url.refuse_unknown(); }).what(),
        "unknown parameter 'bussy_timeout' in the URL; did you mean 'busy_timeout'? known "
        "parameters: busy_timeout, schema"
    );
}

TEST(UrlTest, passwords_are_never_shown) {
    EXPECT_EQ(redacted("postgresql://ada:s3cr3t@host/db"), "postgresql://ada:***@host/db");
    EXPECT_EQ(redacted("postgresql://ada:a@b:c@host/db"), "postgresql://ada:***@host/db");
    EXPECT_EQ(
        redacted("postgresql://host/db?password=s3cr3t&x=1"),
        "postgresql://host/db?password=***&x=1"
    );
    EXPECT_EQ(redacted("sqlite:file.db"), "sqlite:file.db");
    EXPECT_EQ(redacted("postgresql://ada@host:5432/db"), "postgresql://ada@host:5432/db");
}

}  // namespace
}  // namespace pawl::test
