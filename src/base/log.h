// Passes messages to the user's log hook, one call at a time.
#pragma once

#include <memory>
#include <mutex>
#include <pawl/log.h>
#include <pawl/types.h>
#include <string_view>

#include "base/literals.h"

namespace pawl::base {

class Log {
public:
    explicit Log(LogHook hook) : state_(std::make_shared<State>(std::move(hook))) {}
    void debug(std::string_view message) const { write(LogLevel::debug, message); }
    void info(std::string_view message) const { write(LogLevel::info, message); }
    void warning(std::string_view message) const { write(LogLevel::warning, message); }
    void error(std::string_view message) const { write(LogLevel::error, message); }
    void write(LogLevel level, std::string_view message) const;

private:
    struct State {
        explicit State(LogHook h) : hook(std::move(h)) {}
        std::mutex mutex;
        LogHook hook;
    };
    std::shared_ptr<State> state_;
};

}  // namespace pawl::base
