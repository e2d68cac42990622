// The servers that a connection tries, one after the other and each with its own timeout.
#include "postgres/driver/hosts.h"

#include <gtest/gtest.h>

namespace pawl::test {
namespace {

using postgres::Host;
using postgres::hosts_of;

// "db" has two addresses, every other name has one.
std::vector<std::string> two_for_db(const std::string& name) {
    if (name == "db") return {"192.0.2.1", "192.0.2.2"};
    return {"192.0.2.9"};
}

std::vector<std::string> shown(const std::string& url) {
    std::vector<std::string> lines;
    for (const Host& host : hosts_of(url, two_for_db))
        lines.push_back(
            host.host + "|" + host.address + "|" + host.port +
            (host.session_attrs.empty() ? "" : "|" + host.session_attrs)
        );
    return lines;
}

using Lines = std::vector<std::string>;

TEST(HostsTest, each_address_of_a_name_is_tried_on_its_own) {
    EXPECT_EQ(
        shown("postgresql://db:5433/shop"), (Lines{"db|192.0.2.1|5433", "db|192.0.2.2|5433"})
    );
    EXPECT_EQ(
        shown("postgresql://db:5433,other:5434/shop"),
        (Lines{"db|192.0.2.1|5433", "db|192.0.2.2|5433", "other||5434"})
    );
}

TEST(HostsTest, a_single_server_is_left_to_libpq) {
    EXPECT_EQ(shown("postgresql://other:5433/shop"), Lines{"||"});
    EXPECT_EQ(shown("postgresql:///shop?host=/run/postgresql"), Lines{"||"});
    EXPECT_EQ(shown("postgresql://db/shop?hostaddr=192.0.2.7"), Lines{"||"}) << "already resolved";
}

TEST(HostsTest, a_name_that_cannot_be_resolved_is_left_to_libpq) {
    const auto none = [](const std::string&) { return Lines{}; };
    EXPECT_EQ(hosts_of("postgresql://db/shop", none).size(), 1U);
}

TEST(HostsTest, a_standby_is_searched_on_all_addresses_before_any_server_is_accepted) {
    EXPECT_EQ(
        shown("postgresql://db:1/shop?target_session_attrs=prefer-standby"),
        (Lines{
            "db|192.0.2.1|1|standby",
            "db|192.0.2.2|1|standby",
            "db|192.0.2.1|1|any",
            "db|192.0.2.2|1|any"})
    );
}

TEST(HostsTest, names_are_resolved_to_numeric_addresses_without_repetition) {
    const auto addresses = postgres::addresses_of("localhost");
    EXPECT_EQ(std::count(addresses.begin(), addresses.end(), "127.0.0.1"), 1);
    EXPECT_TRUE(postgres::addresses_of("no-such-host.invalid").empty());
}

}  // namespace
}  // namespace pawl::test
