// The user's own connection, with the user's own open transaction.
#pragma once

#include <pawl/transaction.h>
#include <string_view>

#include "sqlite/session.h"

namespace pawl::sqlite {

// Throws wrong_transaction, which names the call.
[[nodiscard]] Session user_session(const Transaction& transaction, std::string_view call);

}  // namespace pawl::sqlite
