#pragma once

#include <string>

namespace weir {

/// What a call's error of this type says; any other one goes on.
template <typename ErrorType, typename Call>
std::string TextOf(Call call) {
  try {
    call();
  } catch (const ErrorType& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace weir
