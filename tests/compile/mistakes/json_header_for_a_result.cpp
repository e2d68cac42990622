// error: add #include <pawl/json.h>
#include <pawl/pawl.h>

void use(const pawl::Store& store) {
    (void)store.run(pawl::RunId(1)).wait<int>(pawl::Duration(1));
}
