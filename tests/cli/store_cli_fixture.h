// The program on each store, with workflows whose runs end in every way. The worker is in the test.
#pragma once

#include <optional>
#include <pawl/json.h>
#include <pawl/pawl.h>

#include "cli/cli_fixture.h"
#include "support/store_test.h"

namespace pawl::test {

class StoreCliTest : public ::testing::TestWithParam<BackendKind> {
protected:
    [[nodiscard]] const std::string& url() const { return place_.url(); }
    [[nodiscard]] const Place& place() const { return place_; }
    [[nodiscard]] Cli cli() const { return Cli(url()); }
    Finished pawl(std::vector<std::string> arguments, const std::string& input = {}) const {
        return cli().run(std::move(arguments), input);
    }
    // With environment variables: {"COLUMNS=80"}.
    Finished pawl_with(
        const std::vector<std::string>& environment, const std::vector<std::string>& arguments
    ) const {
        std::vector<std::string> words{"env"};
        words.insert(words.end(), environment.begin(), environment.end());
        words.insert(words.end(), {PAWL_COMMAND, "--url", url()});
        words.insert(words.end(), arguments.begin(), arguments.end());
        return test::run(words);
    }
    // On a terminal, whose output is returned.
    Finished on_terminal(
        const std::vector<std::string>& environment, const std::vector<std::string>& arguments
    ) const {
        constexpr const char* spawn =
            "import pty, sys; sys.exit(pty.spawn(sys.argv[1:], lambda f: __import__('os').read(f, "
            "4096)) >> 8)";
        std::vector<std::string> words{"python3", "-c", spawn, "env", "-u", "COLUMNS"};
        words.insert(words.end(), environment.begin(), environment.end());
        words.insert(words.end(), {PAWL_COMMAND, "--url", url()});
        words.insert(words.end(), arguments.begin(), arguments.end());
        return test::run(words);
    }

private:
    Place place_{GetParam()};
};

// With the runs: 1 succeeded, 2 paused at 'approval', 3 failed, 4 sleeps, 5 cancelled.
class RunsCliTest : public StoreCliTest {
protected:
    void SetUp() override;
    [[nodiscard]] const Store& store() const { return *store_; }
    void work() { worker_->poll_once(); }
    RunId trigger(const std::string& workflow, const std::string& input) const {
        return Trigger(NewRun{workflow, Json(input), {}}).execute(*store_).id();
    }

private:
    std::optional<Store> store_;
    std::optional<Worker> worker_;
};

}  // namespace pawl::test
