// Every command's help has examples of that command.
#include <regex>

#include "cli/cli_fixture.h"

namespace pawl::test {
namespace {

class HelpCliTest : public CliFixture {};

TEST_F(HelpCliTest, every_help_has_examples_of_its_command) {
    const std::string script = pawl({"completion", "bash"}).out;
    const std::regex path("    '( [a-z -]+)'\\) words");
    int commands = 0;
    for (std::sregex_iterator i(script.begin(), script.end(), path), end; i != end; ++i) {
        const std::string command = "pawl" + i->str(1);
        std::istringstream words(i->str(1));
        std::vector<std::string> arguments(std::istream_iterator<std::string>(words), {});
        arguments.emplace_back("--help");
        const Finished help = pawl(arguments);
        EXPECT_EQ(help.code, 0) << command;
        const auto examples = help.out.find("Examples:");
        ASSERT_NE(examples, std::string::npos) << command;
        EXPECT_TRUE(contains(help.out.substr(examples), command)) << command;
        ++commands;
    }
    EXPECT_GT(commands, 80);
}

}  // namespace
}  // namespace pawl::test
