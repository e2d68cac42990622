// The real program, as a shell runs it, on a separate store.
#pragma once

#include <nlohmann/json.hpp>

#include "support/expect.h"
#include "support/place.h"
#include "support/process.h"

namespace pawl::test {

/// The program on one store.
class Cli {
public:
    explicit Cli(std::string url) : url_(std::move(url)) {}

    Finished run(std::vector<std::string> arguments, const std::string& input = {}) const {
        arguments.insert(arguments.begin(), {PAWL_COMMAND, "--url", url_});
        return test::run(std::move(arguments), input);
    }
    nlohmann::json json(std::vector<std::string> arguments, const std::string& input = {}) const {
        arguments.emplace_back("--json");
        const Finished finished = run(std::move(arguments), input);
        EXPECT_EQ(finished.code, 0) << finished.err;
        return nlohmann::json::parse(finished.out);
    }
    // The error code of a command that must fail and print no result.
    std::string failure(std::vector<std::string> arguments, const std::string& input = {}) const {
        arguments.emplace_back("--json");
        const Finished finished = run(arguments, input);
        EXPECT_TRUE(finished.code == 1 || finished.code > 2) << finished.out << finished.err;
        EXPECT_EQ(finished.out, "");
        const auto error = nlohmann::json::parse(finished.err);
        EXPECT_NE(error["message"], "");
        return error["error"];
    }

private:
    std::string url_;
};

class CliFixture : public ::testing::Test {
protected:
    [[nodiscard]] std::string url() const { return "sqlite:" + directory_.file("cli.db"); }

    Finished pawl(std::vector<std::string> arguments, const std::string& input = {}) const {
        return Cli(url()).run(std::move(arguments), input);
    }
    nlohmann::json pawl_json(std::vector<std::string> arguments, const std::string& input = {})
        const {
        return Cli(url()).json(std::move(arguments), input);
    }
    TempDirectory directory_;
};

}  // namespace pawl::test
