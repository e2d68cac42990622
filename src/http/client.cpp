#include "http/client.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <curl/curl.h>
#include <fmt/format.h>
#include <new>
#include <pawl/error.h>
#include <utility>

namespace pawl::http {

namespace {

// Blocks SIGPIPE in this thread and discards it: OpenSSL writes to sockets that the peer may have
// closed, and the program may not ignore the signal.
class NoBrokenPipe {
public:
    NoBrokenPipe() {
        sigemptyset(&pipe_);
        sigaddset(&pipe_, SIGPIPE);
        sigset_t pending;
        sigpending(&pending);
        was_pending_ = sigismember(&pending, SIGPIPE) == 1;
        pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
    }
    ~NoBrokenPipe() {
        if (!was_pending_) {
            const timespec immediately{0, 0};
            while (sigtimedwait(&pipe_, nullptr, &immediately) == -1 && errno == EINTR) {
            }
        }
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
    NoBrokenPipe(const NoBrokenPipe&) = delete;
    NoBrokenPipe& operator=(const NoBrokenPipe&) = delete;

private:
    sigset_t pipe_{};
    sigset_t before_{};
    bool was_pending_ = false;
};

class HeaderList {
public:
    HeaderList() = default;
    ~HeaderList() { curl_slist_free_all(list_); }
    HeaderList(const HeaderList&) = delete;
    HeaderList& operator=(const HeaderList&) = delete;
    void add(const std::string& line) {
        curl_slist* const longer = curl_slist_append(list_, line.c_str());
        if (longer == nullptr) throw std::bad_alloc();
        list_ = longer;
    }
    [[nodiscard]] curl_slist* get() const { return list_; }

private:
    curl_slist* list_ = nullptr;
};

std::string lower(std::string_view text) {
    std::string result(text);
    for (char& c : result)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return result;
}

std::string_view trimmed(std::string_view text) {
    const auto first = text.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

// The received part of an answer. The callbacks return a smaller size than they got to end the
// call.
struct Arrival {
    const ClientOptions& limits;
    Response response = {};
    std::size_t header_bytes = 0;
    bool headers_done = false;  // of the final answer, not of 100 Continue
    bool headers_too_long = false;
    bool body_too_long = false;
};

std::size_t on_header(char* data, std::size_t, std::size_t size, void* user) {
    Arrival& arrival = *static_cast<Arrival*>(user);
    arrival.header_bytes += size;
    if (arrival.header_bytes > arrival.limits.max_headers) {
        arrival.headers_too_long = true;
        return 0;
    }
    const std::string_view line(data, size);
    if (line.starts_with("HTTP/")) {
        arrival.response = {};
        const auto space = line.find(' ');
        if (space != std::string_view::npos)
            arrival.response.status = std::atoi(std::string(line.substr(space + 1)).c_str());
        return size;
    }
    if (trimmed(line).empty()) {
        arrival.headers_done = arrival.response.status >= 200;
        return size;
    }
    const auto colon = line.find(':');
    if (colon != std::string_view::npos)
        arrival.response.headers.insert_or_assign(
            lower(trimmed(line.substr(0, colon))), std::string(trimmed(line.substr(colon + 1)))
        );
    return size;
}

std::size_t on_body(char* data, std::size_t, std::size_t size, void* user) {
    Arrival& arrival = *static_cast<Arrival*>(user);
    const std::size_t room = arrival.limits.max_body - arrival.response.body.size();
    arrival.response.body.append(data, std::min(size, room));
    if (size <= room) return size;
    arrival.body_too_long = true;
    return 0;
}

template <class Value>
void set(CURL* handle, CURLoption option, Value value) {
    const CURLcode code = curl_easy_setopt(handle, option, value);
    if (code != CURLE_OK)
        throw Error(
            ErrorCode::invalid_argument,
            fmt::format("cannot set up the HTTP client: {}", curl_easy_strerror(code))
        );
}

// libcurl's message about a certificate of another host contains host names; it is replaced.
std::string distrust(std::string_view message) {
    constexpr std::string_view prefix = "SSL certificate problem: ";
    if (!message.starts_with(prefix)) return "it was issued for another host";
    return std::string(message.substr(prefix.size()));
}

std::string failure_text(
    CURL* handle, CURLcode code, const Arrival& arrival, std::string_view message
) {
    const auto limit = arrival.limits.timeout.count();
    curl_off_t connected = 0;
    if (arrival.headers_too_long)
        return fmt::format("the headers of the answer exceed {} bytes", arrival.limits.max_headers);
    switch (code) {
        case CURLE_COULDNT_RESOLVE_HOST:
        case CURLE_COULDNT_CONNECT:
            return "the server cannot be reached";
        case CURLE_OPERATION_TIMEDOUT:
            curl_easy_getinfo(handle, CURLINFO_CONNECT_TIME_T, &connected);
            return fmt::format(
                "no {} within {} ms", connected == 0 ? "connection" : "answer", limit
            );
        case CURLE_SEND_ERROR:
            return "the connection was lost while sending";
        case CURLE_RECV_ERROR:
        case CURLE_GOT_NOTHING:
        case CURLE_PARTIAL_FILE:
            return "the connection was lost before an answer arrived";
        case CURLE_SSL_CONNECT_ERROR:
            return "the TLS handshake failed";
        case CURLE_SSL_CACERT_BADFILE:
            return "cannot read the file of trusted certificates";
        case CURLE_PEER_FAILED_VERIFICATION:
            return "the server's certificate is not trusted: " + distrust(message);
        case CURLE_UNSUPPORTED_PROTOCOL:
        case CURLE_WEIRD_SERVER_REPLY:
            return "the answer is not HTTP";
        case CURLE_OUT_OF_MEMORY:  // libcurl's limit of 100 kB per line
            return "a line of the answer's headers is too long";
        default:
            return fmt::format("the request failed: {}", curl_easy_strerror(code));
    }
}

}  // namespace

void Client::Close::operator()(void* handle) const {
    const NoBrokenPipe guard;  // closing a TLS connection writes to the socket
    curl_easy_cleanup(handle);
}

Client::Client(ClientOptions options) : options_(std::move(options)) {
    // Thread-safe since libcurl 7.84. Not undone, because other code in this process may use
    // libcurl.
    static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
    if (ready != CURLE_OK) throw std::bad_alloc();
}

Client::~Client() = default;

std::variant<Response, Failure> Client::post(const Request& request) {
    Handle handle = take();
    HeaderList headers;
    for (const auto& [name, value] : request.headers)
        headers.add(value.empty() ? fmt::format("{};", name) : fmt::format("{}: {}", name, value));
    headers.add("Expect:");  // avoids a round trip before large bodies
    Arrival arrival{options_};
    std::array<char, CURL_ERROR_SIZE> message{};
    set(handle.get(), CURLOPT_REQUEST_TARGET, request.target.c_str());
    set(handle.get(), CURLOPT_HTTPHEADER, headers.get());
    set(handle.get(), CURLOPT_POSTFIELDS, request.body.data());
    set(handle.get(), CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    set(handle.get(), CURLOPT_HEADERDATA, static_cast<void*>(&arrival));
    set(handle.get(), CURLOPT_WRITEDATA, static_cast<void*>(&arrival));
    set(handle.get(), CURLOPT_ERRORBUFFER, message.data());
    const bool has_own_login = std::ranges::any_of(request.headers, [](const auto& header) {
        return lower(header.first) == "authorization";
    });
    if (options_.login && !has_own_login) {
        set(handle.get(), CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BASIC));
        set(handle.get(), CURLOPT_USERNAME, options_.login->user.c_str());
        set(handle.get(), CURLOPT_PASSWORD, options_.login->password.c_str());
    }
    CURLcode code = CURLE_OK;
    {
        const NoBrokenPipe guard;
        code = curl_easy_perform(handle.get());
    }
    // If status and headers have arrived, the server has answered, whatever happens to its body.
    const bool cut_off =
        arrival.headers_done && (arrival.body_too_long || code == CURLE_OPERATION_TIMEDOUT);
    if (code != CURLE_OK && !cut_off)
        return Failure{failure_text(handle.get(), code, arrival, message.data())};
    arrival.response.complete = code == CURLE_OK;
    give_back(std::move(handle));
    return std::move(arrival.response);
}

// Prefers a handle with an open connection.
Client::Handle Client::take() {
    Handle handle;
    {
        const std::lock_guard lock(mutex_);
        if (!idle_.empty()) {
            handle = std::move(idle_.back());
            idle_.pop_back();
        }
    }
    if (!handle) handle.reset(curl_easy_init());
    if (!handle) throw std::bad_alloc();
    set_options(handle.get());
    return handle;
}

void Client::give_back(Handle handle) {
    curl_easy_reset(handle.get());  // its connections stay open
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(handle));
}

void Client::set_options(void* handle) const {
    const long timeout_ms = static_cast<long>(options_.timeout.count());
    set(handle, CURLOPT_URL, options_.origin.c_str());
    set(handle, CURLOPT_PROTOCOLS_STR, "http,https");
    set(handle, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    set(handle, CURLOPT_PROXY, "");
    set(handle, CURLOPT_POST, 1L);
    set(handle, CURLOPT_NOSIGNAL, 1L);  // timeouts do not use SIGALRM
    set(handle, CURLOPT_TIMEOUT_MS, timeout_ms);
    set(handle, CURLOPT_CONNECTTIMEOUT_MS, timeout_ms);
    set(handle, CURLOPT_SSL_VERIFYPEER, options_.verify_tls ? 1L : 0L);
    set(handle, CURLOPT_SSL_VERIFYHOST, options_.verify_tls ? 2L : 0L);
    if (!options_.ca_file.empty()) set(handle, CURLOPT_CAINFO, options_.ca_file.c_str());
    set(handle, CURLOPT_HEADERFUNCTION, &on_header);
    set(handle, CURLOPT_WRITEFUNCTION, &on_body);
}

}  // namespace pawl::http
