// pawl demo: kills a worker at work and shows that nothing is lost. No server, nothing left behind.
#include "cli/demo.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <span>
#include <system_error>
#include <thread>
#include <utility>

#include "cli/child_process.h"
#include "cli/commands.h"
#include "cli/demo_report.h"
#include "cli/failure.h"
#include "cli/values.h"

namespace pawl::cli {

namespace {

constexpr Duration patience = 12s;

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
        std::error_code ignored;  // what stays behind is in the temporary directory
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
        context_.url = "sqlite:" + (directory_.path() / "demo.db").string();
    }

    ExitCode run() {
        store_ = context_.connect(demo::connect_options());
        tell("A queue, three worker processes, and a SIGKILL. Nothing may get lost.\n\n");
        fill_queue();
        start_workers();
        kill_one_at_work();
        wait_for_the_rest();
        const auto report = look_into_archive(*store_, facts_);
        for (auto& child : children_) child.stop(3s);
        context_.answer(report.as_json(), report.as_text());
        return report.nothing_lost() ? ExitCode::ok : ExitCode::failure;
    }

private:
    void tell(const std::string& line) const {
        if (!context_.json()) context_.print(line);
    }

    void fill_queue() {
        store_->install();
        QueueOptions options;
        options.lease = demo::lease;
        const auto queue = store_->create_queue(demo::queue_name, options);
        std::vector<NewMessage> messages;
        for (int i = 1; i <= demo::message_count; ++i)
            messages.push_back({Json(fmt::format(R"({{"order":{}}})", i)), {}});
        facts_.enqueued = queue.enqueue(std::span<const NewMessage>(messages));
        facts_.start = std::chrono::steady_clock::now();
        tell(fmt::format(
            "  enqueued   {} messages, lease {}",
            facts_.enqueued.size(),
            short_duration(demo::lease)
        ));
    }

    void start_workers() {
        std::vector<std::string> names;
        for (const char* name : {"worker-1", "worker-2", "worker-3"}) {
            children_.emplace_back(std::vector<std::string>{
                "pawl", "--url", context_.url, demo::worker_command, name});
            names.push_back(fmt::format("{} (pid {})", name, children_.back().pid()));
        }
        tell(fmt::format("  started    {}", fmt::join(names, ", ")));
    }

    // Some work has to be done before, so that every worker has its share.
    void kill_one_at_work() {
        const auto queue = store_->queue(demo::queue_name);
        wait_until("a worker to hold a message", [&] {
            if (queue.stats().archived < demo::message_count / 5) return false;
            return std::ranges::any_of(children_, [&](auto& child) { return strike(child); });
        });
        const auto held = facts_.held.size();
        tell(fmt::format(
            "  killed     {} (pid {}) with SIGKILL while it held {} message{}",
            facts_.victim.name,
            facts_.victim.pid,
            held,
            held == 1 ? "" : "s"
        ));
    }

    // A frozen process cannot finish anything: what the store shows is what it dies with.
    bool strike(ChildProcess& child) {
        const auto workers = store_->workers();
        const auto worker = std::ranges::find(workers, child.pid(), &WorkerInfo::pid);
        if (worker == workers.end()) return false;
        child.freeze();
        std::vector<MessageId> held;
        for (const auto& message : store_->queue(demo::queue_name).list(MessageState::leased))
            if (message.worker == worker->id) held.push_back(message.id);
        if (held.empty()) {
            child.thaw();
            return false;
        }
        child.kill();
        facts_.victim = *worker;
        facts_.held = held;
        facts_.killed_at = store_->now();
        return true;
    }

    void wait_for_the_rest() {
        const auto queue = store_->queue(demo::queue_name);
        wait_until("the other workers to finish", [&] {
            for (auto& child : children_)
                if (child.pid() != facts_.victim.pid && !child.alive())
                    throw std::runtime_error("a worker process ended on its own");
            const auto stats = queue.stats();
            return stats.ready + stats.waiting + stats.leased == 0;
        });
        facts_.elapsed =
            std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - facts_.start);
    }

    template <class Condition>
    void wait_until(const char* what, Condition condition) const {
        while (!condition()) {
            if (interrupted != 0) throw std::runtime_error("interrupted");
            if (std::chrono::steady_clock::now() - facts_.start > patience)
                throw std::runtime_error(
                    fmt::format("gave up waiting for {} after {}s", what, patience / 1s)
                );
            std::this_thread::sleep_for(10ms);
        }
    }

    // Destroyed from the bottom up: processes, then the store, then the files.
    Context context_;
    TemporaryDirectory directory_;
    std::optional<Store> store_;
    DemoFacts facts_;
    std::vector<ChildProcess> children_;
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
    root.add("demo", "Kill a worker at work and see its messages taken over; needs no server")
        .examples("  pawl demo\n  pawl demo --json")
        .run(run_demo);
}

}  // namespace pawl::cli
