// Calls over the user's own connection, inside the user's own open transaction: nothing is
// prepared, and nothing but our statements is sent.
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
