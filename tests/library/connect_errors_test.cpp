#include <algorithm>
#include <thread>

#include "support/gate.h"
#include "support/store_test.h"

namespace pawl::test {
namespace {

ConnectOptions quiet(const LogLines& log) {
    ConnectOptions options;
    options.log = log.hook();
    options.connect_timeout = 300ms;
    options.retry_timeout = 0ms;
    return options;
}

Error connect_error(const std::string& url) {
    const LogLines log;
    return error_of([&] { (void)connect(url, quiet(log)); });
}

TEST(ConnectErrorsTest, text_that_is_not_a_url_is_refused) {
    for (const std::string url :
         {"", "pawl.db", ":", "mysql://host/db", "http://host", "postgresql:db"}) {
        const Error error = connect_error(url);
        EXPECT_EQ(error.code(), ErrorCode::invalid_url) << url;
        EXPECT_TRUE(contains(error.what(), "sqlite:file.db")) << "it says what to use";
    }
}

TEST(ConnectErrorsTest, impossible_options_are_refused) {
    ConnectOptions options;
    options.lease = 0s;
    EXPECT_EQ(
        error_of([&] { (void)connect("sqlite::memory:", options); }).code(),
        ErrorCode::invalid_argument
    );
    options.lease = 10s;
    options.heartbeat = 9s;
    EXPECT_EQ(
        error_of([&] { (void)connect("sqlite::memory:", options); }).code(),
        ErrorCode::invalid_argument
    );
}

#ifdef PAWL_WITH_SQLITE
TEST(ConnectErrorsTest, a_missing_folder_is_named) {
    const Error error = connect_error("sqlite:/no/such/folder/store.db");
    EXPECT_EQ(error.code(), ErrorCode::connection_failed);
    EXPECT_TRUE(contains(error.what(), "/no/such/folder"));
}

TEST(ConnectErrorsTest, a_file_that_is_not_a_database_is_named) {
    const TempDirectory directory;
    const std::string file = directory.file("notes.txt");
    {
        std::unique_ptr<FILE, int (*)(FILE*)> out(fopen(file.c_str(), "w"), fclose);
        fputs(std::string(4096, 'x').c_str(), out.get());
    }
    const Error error = error_of([&] { connect("sqlite:" + file).install(); });
    EXPECT_TRUE(contains(error.what(), "notes.txt"));
}

TEST(ConnectErrorsTest, a_folder_instead_of_a_file_is_refused) {
    const TempDirectory directory;
    EXPECT_EQ(
        connect_error("sqlite:" + directory.path().string()).code(), ErrorCode::connection_failed
    );
}

TEST(ConnectErrorsTest, sqlite_parameters_are_checked) {
    for (const std::string parameter :
         {"synchronous=off",
          "busy_timeout=soon",
          "busy_timeout=-1",
          "max_connections=0",
          "speed=9",
          "synchronous"}) {
        const Error error = connect_error("sqlite:x.db?" + parameter);
        EXPECT_EQ(error.code(), ErrorCode::invalid_url) << parameter;
        EXPECT_TRUE(contains(error.what(), parameter.substr(0, parameter.find('='))));
    }
    EXPECT_EQ(connect_error("sqlite:").code(), ErrorCode::invalid_url);
    EXPECT_EQ(connect_error("sqlite::memory:?schema=a").code(), ErrorCode::invalid_url);
    EXPECT_EQ(connect_error("sqlite:x.db?schema=../a").code(), ErrorCode::invalid_schema_name);
}
#endif

#ifdef PAWL_WITH_POSTGRES
TEST(ConnectErrorsTest, a_bad_schema_name_is_refused) {
    for (const std::string name : {"", "Tenant", "1a", "a-b", "a;drop", "pg_x", "a\"b", "a%20b"}) {
        const Error error = connect_error("postgresql://127.0.0.1:1/db?schema=" + name);
        EXPECT_EQ(error.code(), ErrorCode::invalid_schema_name) << name;
    }
    EXPECT_EQ(
        connect_error("postgresql://127.0.0.1:1/db?schema=" + std::string(49, 'a')).code(),
        ErrorCode::invalid_schema_name
    );
}

TEST(ConnectErrorsTest, postgres_parameters_are_checked) {
    const std::string server = test_server_url();
    EXPECT_EQ(connect_error(with_parameter(server, "pooler=maybe")).code(), ErrorCode::invalid_url);
    EXPECT_EQ(
        connect_error(with_parameter(server, "max_connections=1")).code(), ErrorCode::invalid_url
    );
    const Error unknown = connect_error(with_parameter(server, "speed=9"));
    EXPECT_TRUE(contains(
        unknown.what(),
        "invalid URI query parameter: \"speed\"; use a connection parameter of libpq, or one of "
        "pawl: schema, max_connections, pooler"
    ));
}

TEST(ConnectErrorsTest, an_unreachable_port_is_named) {
    int port = 0;
    {
        const Gate gate(0);
        port = gate.port();
    }
    const Error error = connect_error("postgresql://127.0.0.1:" + std::to_string(port) + "/db");
    EXPECT_EQ(error.code(), ErrorCode::connection_failed);
    EXPECT_TRUE(error.retryable());
    EXPECT_FALSE(error.in_doubt());
    EXPECT_TRUE(contains(error.what(), std::to_string(port)));
    EXPECT_TRUE(contains(error.what(), "start the server, or check host and port")) << error.what();
}

TEST(ConnectErrorsTest, an_unknown_host_is_named) {
    const Error error = connect_error("postgresql://no-such-host.invalid/db");
    EXPECT_EQ(error.code(), ErrorCode::connection_failed);
    EXPECT_TRUE(contains(error.what(), "no-such-host.invalid"));
}

TEST(ConnectErrorsTest, a_missing_database_is_named) {
    std::string url = test_server_url();
    url.replace(url.rfind('/'), std::string::npos, "/no_such_database");
    const Error error = connect_error(url);
    EXPECT_EQ(error.code(), ErrorCode::connection_failed);
    EXPECT_TRUE(contains(error.what(), "no_such_database"));
    EXPECT_FALSE(error.retryable()) << "it will not appear by itself";
    EXPECT_TRUE(contains(error.what(), "create the database: createdb 'no_such_database'"))
        << error.what();
    EXPECT_FALSE(contains(error.what(), "3D000"));
    EXPECT_FALSE(contains(error.what(), "LOCATION"));
}

TEST(ConnectErrorsTest, a_login_that_is_refused_is_not_retryable) {
    std::string url = test_server_url();
    const auto user = url.find("://") + 3;
    url.replace(user, url.find('@') - user, "no_such_role");
    const Error error = connect_error(url);
    EXPECT_EQ(error.code(), ErrorCode::connection_failed);
    EXPECT_TRUE(contains(error.what(), "no_such_role"));
    EXPECT_TRUE(contains(error.what(), "check the user in the URL")) << error.what();
    EXPECT_FALSE(error.retryable());
}

std::string with_hosts(const std::vector<int>& ports, const std::string& more = {}) {
    const std::string server = test_server_url();
    const auto host = server.find("://") + 3;
    const auto slash = server.find('/', host);
    const auto at_sign = server.substr(0, slash).rfind('@');
    std::string url = server.substr(0, at_sign == std::string::npos ? host : at_sign + 1);
    for (const int port : ports)
        url += (port == ports.front() ? "" : ",") + ("127.0.0.1:" + std::to_string(port));
    url += server.substr(slash);
    return more.empty() ? url : with_parameter(url, more);
}

TEST(ConnectErrorsTest, each_host_gets_its_own_time) {
    const Gate silent(0);
    Gate mute(port_of(test_server_url()));
    mute.stall_at("pg_backend_pid");
    const LogLines log;
    const auto url = with_hosts({silent.port(), mute.port(), port_of(test_server_url())});
    EXPECT_EQ(
        error_of([&] { (void)connect(url, quiet(log)).queues(); }).code(), ErrorCode::not_installed
    ) << "the third host answers";
}

TEST(ConnectErrorsTest, all_hosts_that_failed_are_named) {
    const Gate first(0);
    const Gate second(0);
    const Error error = connect_error(with_hosts({first.port(), second.port()}));
    EXPECT_EQ(error.code(), ErrorCode::timeout);
    EXPECT_TRUE(error.retryable());
    EXPECT_TRUE(contains(error.what(), std::to_string(first.port())));
    EXPECT_TRUE(contains(error.what(), std::to_string(second.port())));
}

TEST(ConnectErrorsTest, a_server_of_the_wanted_kind_is_found_after_a_silent_one) {
    const Gate silent(0);
    const LogLines log;
    const std::vector<int> ports{silent.port(), port_of(test_server_url())};
    for (const std::string kind : {"read-write", "primary", "prefer-standby"}) {
        const auto url = with_hosts(ports, "target_session_attrs=" + kind);
        EXPECT_EQ(
            error_of([&] { (void)connect(url, quiet(log)).queues(); }).code(),
            ErrorCode::not_installed
        ) << kind;
    }
    const Error error = connect_error(with_hosts(ports, "target_session_attrs=standby"));
    EXPECT_TRUE(error.retryable());
}

TEST(ConnectErrorsTest, a_server_that_never_answers_gives_a_timeout) {
    const Gate black_hole(0);
    const Error error =
        connect_error("postgresql://127.0.0.1:" + std::to_string(black_hole.port()) + "/db");
    EXPECT_EQ(error.code(), ErrorCode::timeout);
    EXPECT_TRUE(error.retryable());
}

TEST(ConnectErrorsTest, a_server_that_falls_silent_after_the_greeting_gives_a_timeout) {
    Gate gate(port_of(test_server_url()));
    gate.stall_at("pg_backend_pid");
    const Error error = connect_error(with_port(test_server_url(), gate.port()));
    EXPECT_EQ(error.code(), ErrorCode::timeout);
}

TEST(ConnectErrorsTest, passwords_stand_in_no_error_and_no_log) {
    int closed = 0;
    {
        const Gate gate(0);
        closed = gate.port();
    }
    const std::string secret = "s3cr3t";
    const std::string place = "127.0.0.1:" + std::to_string(closed);
    for (const std::string& url :
         {"postgresql://ada:" + secret + "@" + place + "/db",
          "postgresql://" + place + "/db?password=" + secret,
          "postgresql://ada:" + secret + "@" + place + "/db?schema=No",
          "postgresql://ada:" + secret + "@" + place + "/db?nonsense=1",
          "postgresql://ada:" + secret + "@" + place + "/db?broken",
          "postgresql://ada:" + secret + "@" + place + ":bad:/db",
          "postgresql://ada:" + secret + "@[::1/db",
          "postgresql://ada:" + secret + "%zz@" + place + "/db",
          "mysql://ada:" + secret + "@" + place + "/db",
          "postgresql:ada:" + secret + "@" + place,
          "postgresql://" + place + "/db?password=" + secret + "&passwort=x",
          "postgresql://ada:x?" + secret + "@" + place + "/db",
          "postgresql://ada:x?" + secret + "=1@" + place + "/db",
          "postgresql://ada:x/" + secret + "@" + place + "/db",
          "postgresql://ada:5/" + secret + "@" + place + "/db",
          "postgresql://ada:x@" + secret + "@" + place + "/db",
          "postgresql://ada:" + secret + "/?@x@" + place + "/db"}) {
        const LogLines log;
        const Error error = error_of([&] { (void)connect(url, quiet(log)); });
        EXPECT_EQ(std::string(error.what()).find(secret), std::string::npos) << error.what();
        EXPECT_EQ(log.text().find(secret), std::string::npos) << log.text();
    }
}
#endif

}  // namespace
}  // namespace pawl::test
