// A gate between a store and its PostgreSQL server, on loopback: forwards, and fails on request.
#pragma once

#include <atomic>
#include <list>
#include <mutex>
#include <string>
#include <thread>

namespace pawl::test {

class Gate {
public:
    // The server's port on 127.0.0.1; 0: no server, everything stalls.
    explicit Gate(int server_port);
    ~Gate();
    Gate(const Gate&) = delete;
    Gate& operator=(const Gate&) = delete;

    [[nodiscard]] int port() const { return port_; }

    // The next request with that text reaches the server; its answer is discarded and the
    // connection dropped. The request was executed, and the client cannot know.
    void lose_answer_to(const std::string& text);
    // The next request with that text does not reach the server; the connection is dropped.
    void lose_request(const std::string& text);
    // Every later request with that text, and all after it, gets no answer.
    void stall_at(const std::string& text);
    // New connections are forwarded; those without an answer stay so.
    void flow_again();
    void refuse_new_connections(bool refuse) { refuse_ = refuse; }
    void drop_connections();
    [[nodiscard]] int refused() const { return refused_; }  // new connections so far
    [[nodiscard]] int stalled() const { return stalled_; }  // connections without an answer
    [[nodiscard]] int lost() const { return lost_; }        // number of lost answers and requests

private:
    enum class Plan { forward, lose_answer, lose_request, stall };
    struct Link {
        int client = -1;
        int server = -1;
        Plan plan = Plan::forward;
    };

    void set_plan(Plan plan, const std::string& text);
    void work(const std::stop_token& stop);
    void accept_one();
    bool from_client(Link& link);  // false: drop the connection
    bool from_server(Link& link);

    int server_port_;
    int listener_ = -1;
    int port_ = 0;
    int wake_ = -1;
    std::atomic<bool> refuse_ = false;
    std::atomic<int> refused_ = 0;
    std::atomic<bool> drop_all_ = false;
    std::atomic<int> lost_ = 0;
    std::atomic<int> stalled_ = 0;
    std::mutex mutex_;
    Plan plan_ = Plan::forward;
    std::string text_;
    std::list<Link> links_;
    std::jthread thread_;
};

// The port in a URL like postgresql://user@127.0.0.1:1234/db.
int port_of(const std::string& url);

}  // namespace pawl::test
