#include "support/gate.h"

#include <arpa/inet.h>
#include <array>
#include <netinet/in.h>
#include <poll.h>
#include <stdexcept>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

namespace pawl::test {

namespace {

sockaddr_in loopback(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    return address;
}

bool send_all(int socket, const char* data, std::size_t size) {
    while (size > 0) {
        const auto sent = send(socket, data, size, MSG_NOSIGNAL);
        if (sent <= 0) return false;
        data += sent;
        size -= static_cast<std::size_t>(sent);
    }
    return true;
}

}  // namespace

Gate::Gate(int server_port)
    : server_port_(server_port),
      listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
      wake_(eventfd(0, EFD_CLOEXEC)) {
    auto address = loopback(0);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (bind(listener_, generic, size) != 0 || listen(listener_, 64) != 0 ||
        getsockname(listener_, generic, &size) != 0)
        throw std::runtime_error("the gate cannot listen");
    port_ = ntohs(address.sin_port);
    thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

Gate::~Gate() {
    thread_.request_stop();
    eventfd_write(wake_, 1);
    thread_.join();
    for (const Link& link : links_) {
        close(link.client);
        if (link.server >= 0) close(link.server);
    }
    close(listener_);
    close(wake_);
}

void Gate::lose_answer_to(const std::string& text) {
    set_plan(Plan::lose_answer, text);
}
void Gate::lose_request(const std::string& text) {
    set_plan(Plan::lose_request, text);
}
void Gate::stall_at(const std::string& text) {
    set_plan(Plan::stall, text);
}

void Gate::flow_again() {
    set_plan(Plan::forward, {});
}

void Gate::set_plan(Plan plan, const std::string& text) {
    const std::lock_guard lock(mutex_);
    plan_ = plan;
    text_ = text;
}

void Gate::drop_connections() {
    drop_all_ = true;
    eventfd_write(wake_, 1);
}

void Gate::work(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        std::vector<pollfd> waiting{{wake_, POLLIN, 0}, {listener_, POLLIN, 0}};
        for (const Link& link : links_) {
            const bool stalled = link.plan == Plan::stall || link.server < 0;
            waiting.push_back({stalled ? -1 : link.client, POLLIN, 0});
            waiting.push_back({stalled ? -1 : link.server, POLLIN, 0});
        }
        poll(waiting.data(), waiting.size(), -1);
        if (stop.stop_requested()) return;
        if (waiting[0].revents != 0) {
            eventfd_t count = 0;
            eventfd_read(wake_, &count);
        }
        const bool drop_all = drop_all_.exchange(false);
        std::size_t at = 2;
        for (auto link = links_.begin(); link != links_.end(); at += 2) {
            bool good = !drop_all;
            if (good && waiting[at].revents != 0) good = from_client(*link);
            if (good && waiting[at + 1].revents != 0) good = from_server(*link);
            if (good) {
                ++link;
                continue;
            }
            close(link->client);
            if (link->server >= 0) close(link->server);
            link = links_.erase(link);
        }
        if (waiting[1].revents != 0) accept_one();
    }
}

void Gate::accept_one() {
    Link link;
    link.client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (link.client < 0) return;
    if (refuse_) {
        ++refused_;
        close(link.client);
        return;
    }
    if (server_port_ != 0) {
        link.server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const auto address = loopback(server_port_);
        if (connect(link.server, reinterpret_cast<const sockaddr*>(&address), sizeof address) !=
            0) {
            close(link.server);
            close(link.client);
            return;
        }
    }
    links_.push_back(link);
}

bool Gate::from_client(Link& link) {
    std::array<char, 65536> buffer{};
    const auto size = recv(link.client, buffer.data(), buffer.size(), 0);
    if (size <= 0) return false;
    const std::string_view request(buffer.data(), static_cast<std::size_t>(size));
    {
        const std::lock_guard lock(mutex_);
        if (plan_ != Plan::forward && request.find(text_) != std::string_view::npos) {
            link.plan = plan_;
            if (plan_ == Plan::stall) {
                ++stalled_;
            } else {
                plan_ = Plan::forward;  // only once
            }
        }
    }
    if (link.plan == Plan::stall) return true;
    if (link.plan == Plan::lose_request) {
        ++lost_;
        return false;
    }
    return send_all(link.server, request.data(), request.size());
}

bool Gate::from_server(Link& link) {
    std::array<char, 65536> buffer{};
    const auto size = recv(link.server, buffer.data(), buffer.size(), 0);
    if (size <= 0) return false;
    if (link.plan == Plan::lose_answer) {
        ++lost_;
        return false;
    }
    return send_all(link.client, buffer.data(), static_cast<std::size_t>(size));
}

int port_of(const std::string& url) {
    const auto end = url.find_first_of("/?", url.find("://") + 3);
    const auto colon = url.rfind(':', end);
    return std::stoi(url.substr(colon + 1, end - colon - 1));
}

}  // namespace pawl::test
