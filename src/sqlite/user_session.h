// The user's own connection, with the user's own open transaction.
#pragma once

#include <pawl/transaction.h>
#include <string_view>

#include "sqlite/session.h"

namespace pawl::sqlite {

// From the beginning on it has the write lock. Throws wrong_transaction, which names the call, and
// what require_schema() does.
class UserSession : public Session {
public:
    UserSession(const Transaction& transaction, std::string_view call);
};

}  // namespace pawl::sqlite
