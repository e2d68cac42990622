// Writes one line of CloudEvents JSON per event. An event counts as delivered when it is on disk.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <mutex>
#include <pawl/outbox.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace pawl::inline v0 {

namespace {

class File {
public:
    explicit File(int descriptor) : descriptor_(descriptor) {}
    ~File() {
        if (descriptor_ >= 0) ::close(descriptor_);
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    [[nodiscard]] int value() const { return descriptor_; }

private:
    int descriptor_;
};

void check(bool good, const char* what) {
    if (!good) throw std::system_error(errno, std::generic_category(), what);
}

// Payloads may have line ends between tokens, where they mean nothing; strings in JSON have none.
std::string on_one_line(std::string json) {
    std::ranges::replace(json, '\n', ' ');
    std::ranges::replace(json, '\r', ' ');
    return json;
}

// A new file survives a power failure only if its directory is flushed too.
int open_for_append(const std::string& path) {
    constexpr int flags = O_RDWR | O_APPEND | O_CLOEXEC;
    const int there = ::open(path.c_str(), flags);
    if (there >= 0 || errno != ENOENT) return there;
    const int made = ::open(path.c_str(), flags | O_CREAT, 0644);
    if (made < 0) return made;
    const auto folder = std::filesystem::absolute(path).parent_path();
    const File directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (directory.value() >= 0) (void)::fsync(directory.value());
    return made;
}

// False if a process crashed in the middle of a line; the line is then ended first.
bool ends_in_a_line(int file) {
    struct stat status {};
    check(::fstat(file, &status) == 0, "fstat");
    char last = '\n';
    if (status.st_size > 0 && S_ISREG(status.st_mode))
        check(::pread(file, &last, 1, status.st_size - 1) == 1, "read");
    return last == '\n';
}

void append(const std::string& path, const std::string& line) {
    const File file(open_for_append(path));
    check(file.value() >= 0, "open");
    const std::string text = (ends_in_a_line(file.value()) ? "" : "\n") + line + "\n";
    for (std::size_t written = 0; written < text.size();) {
        const auto count = ::write(file.value(), text.data() + written, text.size() - written);
        if (count < 0 && errno == EINTR) continue;
        check(count >= 0, "write");
        written += static_cast<std::size_t>(count);
    }
    // Pipes and similar files cannot be flushed.
    check(::fdatasync(file.value()) == 0 || errno == EINVAL || errno == EROFS, "fdatasync");
}

}  // namespace

Sink file_sink(std::string_view file, std::string_view event_source) {
    const std::string path(file);
    const std::string source(event_source);
    if (path.empty())
        throw Error(ErrorCode::invalid_argument, "the file name of the sink is empty");
    const auto one_at_a_time = std::make_shared<std::mutex>();
    return [path, source, one_at_a_time](const OutboxEvent& event) -> SinkResult {
        const std::lock_guard lock(*one_at_a_time);
        append(path, on_one_line(to_cloud_event(event, source).text));
        return {};
    };
}

}  // namespace pawl::inline v0
