// Calls over the user's connection, inside the user's open transaction. Prepares nothing, and sends
// nothing except pawl's statements.
#pragma once

#include <pawl/transaction.h>
#include <string>

#include "postgres/driver/params.h"
#include "postgres/driver/rows.h"
#include "store/statement.h"

namespace pawl::postgres {

class UserTransaction {
public:
    // Throws wrong_transaction.
    UserTransaction(Transaction transaction, std::string schema);

    Rows run(const store::Statement& statement, const Params& params);

private:
    PGconn* connection_;
    std::string schema_;
};

}  // namespace pawl::postgres
