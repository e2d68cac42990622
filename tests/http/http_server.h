// A real HTTP server on loopback that answers as a test configures it and records requests.
#pragma once

#include <condition_variable>
#include <functional>
#include <httplib.h>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace pawl::test {

class HttpServer {
public:
    using Answer = std::function<void(const httplib::Request&, httplib::Response&)>;

    HttpServer() : HttpServer(std::make_unique<httplib::Server>(), "http") {}
    HttpServer(const std::string& certificate, const std::string& key)
        : HttpServer(
              std::make_unique<httplib::SSLServer>(certificate.c_str(), key.c_str()), "https"
          ) {}
    ~HttpServer() {
        let_go();
        server_->stop();
        thread_.join();
    }
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;

    [[nodiscard]] std::string url(const std::string& host = "127.0.0.1") const {
        return scheme_ + "://" + host + ":" + std::to_string(port_) + "/events";
    }
    [[nodiscard]] int port() const { return port_; }
    void answer(Answer answer) {
        const std::lock_guard lock(mutex_);
        answer_ = std::move(answer);
    }
    void answer(int status) {
        answer([status](const httplib::Request&, httplib::Response& response) {
            response.status = status;
        });
    }
    // Requests wait until let_go().
    void hang() {
        answer([this](const httplib::Request&, httplib::Response&) {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [&] { return let_go_; });
        });
    }
    void let_go() {
        {
            const std::lock_guard lock(mutex_);
            let_go_ = true;
        }
        changed_.notify_all();
    }
    [[nodiscard]] std::vector<httplib::Request> requests() const {
        const std::lock_guard lock(mutex_);
        return requests_;
    }

private:
    HttpServer(std::unique_ptr<httplib::Server> server, std::string scheme)
        : server_(std::move(server)), scheme_(std::move(scheme)) {
        server_->Post(".*", [this](const httplib::Request& request, httplib::Response& response) {
            Answer answer;
            {
                const std::lock_guard lock(mutex_);
                requests_.push_back(request);
                answer = answer_;
            }
            if (answer) answer(request, response);
        });
        port_ = server_->bind_to_any_port("127.0.0.1");
        thread_ = std::thread([this] { server_->listen_after_bind(); });
        while (!server_->is_running()) std::this_thread::yield();  // else a stop would be lost
    }

    std::unique_ptr<httplib::Server> server_;
    std::string scheme_;
    int port_ = 0;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    bool let_go_ = false;
    Answer answer_;
    std::vector<httplib::Request> requests_;
    std::thread thread_;
};

}  // namespace pawl::test
