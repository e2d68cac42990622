// A flow: steps and their dependencies are declared, and each step runs when its dependencies are
// done. `resize` is a map: one task per element of the array that `list` returns.
#include <cstdio>
#include <pawl/json.h>
#include <pawl/pawl.h>

struct Album {
    std::string name;
    std::vector<std::string> pictures;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Album, name, pictures)

// A step gets the run's input as `run`, and the output of each step on which it depends.
struct AlbumInput {
    Album run;
};
struct ReportInput {
    std::vector<std::string> resize;
    std::string title;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AlbumInput, run)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ReportInput, resize, title)

struct Result {
    std::string report;  // output of the last step, on which no other step depends
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Result, report)

int main() {
    pawl::Store store = pawl::connect("sqlite::memory:");  // or sqlite:app.db, postgresql://host/db
    store.install();

    auto album = pawl::flow("album")
                     .step("list")
                     .step("title")
                     .map("resize", "list")
                     .step("report", {"resize", "title"});
    album.on("list", [](pawl::TaskContext&, const AlbumInput& in) { return in.run.pictures; });
    album.on("title", [](pawl::TaskContext&, const AlbumInput& in) {
        return "The " + in.run.name;
    });
    album.on("resize", [](pawl::TaskContext&, const std::string& in) { return "small/" + in; });
    album.on("report", [](pawl::TaskContext&, const ReportInput& in) {
        return in.title + ": " + std::to_string(in.resize.size()) + " pictures";
    });
    album.create(store);

    pawl::Worker worker = pawl::worker("worker-1").flow(album).create(store);
    worker.start();
    const pawl::Run run =
        album.start(Album{"zoo", {"ape.png", "bear.png", "cat.png"}}).execute(store);
    std::printf("%s\n", run.wait<Result>(std::chrono::seconds(30)).report.c_str());
    worker.stop();

    for (const pawl::StepInfo& step : run.steps())
        std::printf("%s: %s\n", step.id.c_str(), step.output->text.c_str());
    for (const pawl::TaskInfo& task : store.run(run.id()).tasks())
        std::printf(
            "%s %d, attempt %d\n", task.task.step.c_str(), task.task.task_index, task.attempts
        );
}
