// pawl demo: kills a worker in the middle of a run and shows how another one finishes it. Without
// --url it uses a temporary SQLite file and leaves nothing behind; PAWL_URL is ignored, so that it
// never writes into a store by accident.
#include "cli/demo/demo.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>

#include "cli/demo/child_process.h"
#include "cli/demo/demo_report.h"
#include "cli/frame/commands.h"
#include "cli/frame/error_output.h"
#include "cli/frame/literals.h"
#include "cli/frame/value_parsers.h"

namespace pawl::cli {

namespace {

constexpr Duration patience = 20s;

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): a signal handler's only way
volatile std::sig_atomic_t interrupted = 0;

class TemporaryDirectory {
public:
    TemporaryDirectory() {
        auto path = (std::filesystem::temp_directory_path() / "pawl-demo-XXXXXX").string();
        if (mkdtemp(path.data()) == nullptr)
            throw std::system_error(errno, std::generic_category(), "cannot create " + path);
        path_ = path;
    }
    ~TemporaryDirectory() {
        std::error_code ignored;  // files that remain are in the temporary directory
        std::filesystem::remove_all(path_, ignored);
    }
    TemporaryDirectory(const TemporaryDirectory&) = delete;
    TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

private:
    std::filesystem::path path_;
};

class Demo {
public:
    explicit Demo(Context context) : context_(std::move(context)) {
        if (!context_.url_given)
            context_.url = "sqlite:" + (directory_.path() / "demo.db").string();
    }

    ExitCode run() {
        store_ = context_.connect(demo::connect_options());
        tell("A workflow of four steps, and a worker that is killed in the third.\n\n");
        create_workflow();
        kill_one_in_the_middle();
        let_another_finish();
        report_.run = store_->run(report_.run.id).info();
        report_.steps = store_->run(report_.run.id).steps();
        context_.print(context_.json() ? report_.as_json() : report_.as_text(*store_));
        return report_.as_promised() ? ExitCode::ok : ExitCode::failure;
    }

private:
    using Clock = std::chrono::steady_clock;

    static Duration since(Clock::time_point start) {
        return std::chrono::duration_cast<Duration>(Clock::now() - start);
    }

    void tell(const std::string& line) const {
        if (!context_.json()) context_.print(line);
    }

    void create_workflow() {
        store_->install();
        WorkflowOptions options;
        options.lease = demo::lease;
        store_->create_workflow(std::string(demo::ship_order.name()), options);
    }

    void trigger() {
        triggered_at_ = Clock::now();
        const demo::Order order{.item = "lamp", .quantity = 2};
        report_.run.id = demo::ship_order.trigger(order).execute(*store_).id();
        tell(fmt::format(
            "  triggered  run {} of {}: {}",
            report_.run.id.value(),
            demo::ship_order.name(),
            fmt::join(demo::steps, ", ")
        ));
    }

    void kill_one_in_the_middle() {
        report_.killed = "worker-1";
        auto words = worker_words(report_.killed);
        words.insert(words.end(), {"--stuck-in", std::string(demo::deadly_step)});
        ChildProcess child(words);
        welcome(child, report_.killed);
        trigger();
        while (relay(child, report_.killed).step != demo::deadly_step) {
        }
        child.kill();
        killed_at_ = Clock::now();
        tell(fmt::format(
            "  killed     {} (pid {}) with SIGKILL in {}; its lease of {} expires",
            report_.killed,
            child.pid(),
            demo::deadly_step,
            short_duration(demo::lease)
        ));
    }

    void let_another_finish() {
        report_.successor = "worker-2";
        ChildProcess child(worker_words(report_.successor));
        welcome(child, report_.successor);
        DemoLine line = relay(child, report_.successor);
        report_.takeover = since(killed_at_);
        while (line.step != demo::returned) line = relay(child, report_.successor);
        store_->run(report_.run.id).wait(patience);
        report_.elapsed = since(triggered_at_);
        child.stop(3s);
    }

    [[nodiscard]] std::vector<std::string> worker_words(const std::string& name) const {
        return {"pawl", "--url", context_.url, demo::worker_command, name};
    }

    void welcome(ChildProcess& child, const std::string& worker) const {
        if (next_line(child, worker) != demo::ready)
            throw std::runtime_error(worker + " did not start");
        tell(fmt::format("  started    {} (pid {})", worker, child.pid()));
    }

    // Waits for the worker's next line, and shows it.
    DemoLine relay(ChildProcess& child, const std::string& worker) {
        std::istringstream words(next_line(child, worker));
        DemoLine line{worker, {}, {}};
        words >> line.step >> line.what;
        if (line.step == demo::returned) return line;
        const bool again = line.what == demo::runs && seen(line);
        tell(fmt::format("  {:<9}  {:<8} {}{}", worker, line.step, line.what, again ? " again" : "")
        );
        report_.lines.push_back(line);
        return line;
    }

    [[nodiscard]] bool seen(const DemoLine& line) const {
        return std::ranges::any_of(report_.lines, [&](const DemoLine& earlier) {
            return earlier.step == line.step && earlier.what == line.what;
        });
    }

    [[nodiscard]] std::string next_line(ChildProcess& child, const std::string& worker) const {
        while (true) {
            if (auto line = child.read_line(100ms)) return *line;
            if (interrupted != 0) throw std::runtime_error("interrupted");
            if (Clock::now() - start_ > patience)
                throw std::runtime_error(
                    fmt::format("{} has printed nothing for {}", worker, short_duration(patience))
                );
        }
    }

    // Destroyed from the bottom up: the store, then the files.
    Context context_;
    TemporaryDirectory directory_;
    std::optional<Store> store_;
    DemoReport report_;
    Clock::time_point start_ = Clock::now();
    Clock::time_point triggered_at_;
    Clock::time_point killed_at_;
};

ExitCode run_demo(const Context& context) {
    std::signal(SIGINT, [](int) { interrupted = 1; });
    std::signal(SIGTERM, [](int) { interrupted = 1; });
    try {
        return Demo(context).run();
    } catch (const OutputError&) {
        throw;
    } catch (const std::exception& error) {
        report(context.format, {"demo_failed", error.what(), ""});
        return ExitCode::failure;
    }
}

}  // namespace

void add_demo_command(const Command& root) {
    root.add("demo", "Kill a worker in the middle of a run and show how another finishes it")
        .examples(
            "  pawl demo\n"
            "  pawl demo --url sqlite:demo.db     keeps the run in that store"
        )
        .run(run_demo);
}

}  // namespace pawl::cli
