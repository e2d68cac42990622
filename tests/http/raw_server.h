// A server over a raw socket: it sees the bytes as they are sent, and may close the connection at
// any point.
#pragma once

#include <arpa/inet.h>
#include <array>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <poll.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace pawl::test {

class RawServer {
public:
    enum class Manners { answers, hangs_up };
    // Sends a part of an answer; returns false if the client has closed the connection.
    using Send = std::function<bool(std::string_view)>;
    // Answers one request.
    using Answer = std::function<void(const Send&)>;

    explicit RawServer(Answer answer) : RawServer(Manners::answers, std::move(answer)) {}
    explicit RawServer(Manners manners, Answer answer = {})
        : manners_(manners),
          answer_(std::move(answer)),
          socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        auto* const any = reinterpret_cast<sockaddr*>(&address);
        if (::bind(socket_, any, size) != 0 || ::listen(socket_, 16) != 0) std::abort();
        ::getsockname(socket_, any, &size);
        port_ = ntohs(address.sin_port);
        thread_ = std::thread([this] { work(); });
    }
    ~RawServer() {
        ::shutdown(socket_, SHUT_RDWR);
        thread_.join();
        ::close(socket_);
    }
    RawServer(const RawServer&) = delete;
    RawServer& operator=(const RawServer&) = delete;
    [[nodiscard]] std::string url() const {
        return "http://127.0.0.1:" + std::to_string(port_) + "/";
    }
    [[nodiscard]] std::string received() const {
        const std::lock_guard lock(mutex_);
        return received_;
    }

private:
    void work() {
        while (true) {
            const int client = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
            if (client < 0) return;
            if (manners_ == Manners::answers) {
                answer(client);
            } else {
                char byte = 0;
                (void)!::read(client, &byte, 1);
                const linger at_once{1, 0};  // a reset, not an orderly close
                ::setsockopt(client, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
            }
            ::close(client);
        }
    }
    static bool send(int client, std::string_view part) {
        while (!part.empty()) {
            const auto sent = ::send(client, part.data(), part.size(), MSG_NOSIGNAL);
            if (sent <= 0) return false;
            part.remove_prefix(static_cast<std::size_t>(sent));
        }
        // A slow server pauses between its parts; a hangup ends the pause.
        pollfd hangup{client, POLLRDHUP, 0};
        return ::poll(&hangup, 1, 0) == 0;
    }
    void answer(int client) {
        std::string text;
        std::array<char, 4096> buffer{};
        while (text.find("\r\n\r\n") == std::string::npos) {
            const auto count = ::read(client, buffer.data(), buffer.size());
            if (count <= 0) break;
            text.append(buffer.data(), static_cast<std::size_t>(count));
        }
        {
            const std::lock_guard lock(mutex_);
            received_ = text;
        }
        if (answer_) {
            answer_([&](std::string_view part) { return send(client, part); });
            return;
        }
        const std::string_view good =
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        (void)!::write(client, good.data(), good.size());
    }

    const Manners manners_;
    const Answer answer_;
    int socket_;
    int port_ = 0;
    mutable std::mutex mutex_;
    std::string received_;
    std::thread thread_;
};

}  // namespace pawl::test
