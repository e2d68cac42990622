// The user's connection, inside the user's open transaction.
#pragma once

#include <pawl/transaction.h>
#include <string_view>

#include "sqlite/session.h"

namespace pawl::sqlite {

// Holds the write lock from the beginning. Throws wrong_transaction, which names the call, and the
// errors of require_schema().
class UserSession : public Session {
public:
    UserSession(const Transaction& transaction, std::string_view call);
};

}  // namespace pawl::sqlite
