// error: get_run() needs #include <pawl/compat.h>
#include <pawl/json.h>
#include <pawl/pawl.h>

void use(const pawl::Store& store) {
    (void)pawl::workflow("order").get_run(pawl::RunId(1), store);
}
