#include "store/batch.h"

namespace pawl::store {

namespace {
std::size_t bytes_of(const std::optional<std::string>& text) {
    return text ? text->size() : 0;
}
}  // namespace

std::size_t bytes_of(const Write& write) {
    std::size_t bytes =
        write.reason.size() + write.output.size() + write.error.size() + write.event_data.size();
    if (write.step)
        bytes += bytes_of(write.step->input) + bytes_of(write.step->output) +
                 bytes_of(write.step->error);
    if (write.call) bytes += write.call->input.text.size();
    if (write.publish) bytes += write.publish->event.payload.text.size();
    return bytes;
}

}  // namespace pawl::store
