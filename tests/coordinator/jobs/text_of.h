#pragma once

#include <string>

namespace weir {

/// Returns the text of a call's error of this type; rethrows any other one.
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
