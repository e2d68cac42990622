// The real program, as a shell sees it, on a store of its own.
#pragma once

#include <nlohmann/json.hpp>

#include "support/expect.h"
#include "support/place.h"
#include "support/process.h"

namespace pawl::test {

class CliFixture : public ::testing::Test {
protected:
    [[nodiscard]] std::string url() const { return "sqlite:" + directory_.file("cli.db"); }

    Finished pawl(std::vector<std::string> arguments, const std::string& input = {}) const {
        arguments.insert(arguments.begin(), {PAWL_COMMAND, "--url", url()});
        return run(std::move(arguments), input);
    }
    nlohmann::json pawl_json(std::vector<std::string> arguments, const std::string& input = {})
        const {
        arguments.emplace_back("--json");
        const Finished finished = pawl(std::move(arguments), input);
        EXPECT_EQ(finished.code, 0) << finished.err;
        return nlohmann::json::parse(finished.out);
    }
    TempDirectory directory_;
};

}  // namespace pawl::test
