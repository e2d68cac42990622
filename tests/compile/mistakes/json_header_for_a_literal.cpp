// error: add #include <pawl/json.h>
#include <pawl/pawl.h>

void use(const pawl::Store& store) {
    store.queue("mail").enqueue("text");
}
