// Workflows in a library that is loaded at run time; see shared_library_test.cpp.
#include <pawl/json.h>
#include <pawl/pawl.h>

namespace {

using namespace std::chrono_literals;

// A type that only this library defines.
struct HomeMade : std::runtime_error {
    using std::runtime_error::runtime_error;
};

std::string shared(pawl::Context& ctx, const std::string& what) {
    ctx.step("permanent", [&] {
        if (what == "permanent") throw pawl::PermanentError("from the library");
    });
    ctx.step("transient", [&] {
        if (what == "transient" && ctx.attempt() < 3) throw pawl::TransientError("later", 0ms);
    });
    ctx.step("unknown", {.max_attempts = 1}, [&] {
        if (what == "unknown") throw HomeMade("from the library");
    });
    std::string caught;
    try {
        ctx.step("caught", [&] {
            if (what == "caught") throw pawl::PermanentError("from the library");
        });
    } catch (const pawl::StepError& error) {
        caught = error.step();
    }
    if (what == "pause") return ctx.pause<std::string>("ask", "a person");
    if (what == "sleep") ctx.sleep(0ms);
    return what + caught;
}

PAWL_WORKFLOW("shared_library.job", shared);

}  // namespace
