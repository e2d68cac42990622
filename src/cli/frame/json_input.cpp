#include "cli/frame/json_input.h"

#include <iostream>
#include <iterator>
#include <pawl/error.h>

#include "cli/output/render.h"

namespace pawl::cli {

Json json_input(const std::optional<std::string>& argument) {
    if (!argument) return {};
    std::string text = *argument;
    if (text == "-") {
        text.assign(std::istreambuf_iterator<char>(std::cin), {});
        text.erase(text.find_last_not_of(" \t\r\n") + 1);
    }
    // The store checks it too; here bad JSON is refused before the store is opened.
    if (const auto problem = json_problem(text)) throw Error(ErrorCode::invalid_payload, *problem);
    return Json(std::move(text));
}

}  // namespace pawl::cli
