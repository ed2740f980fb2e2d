#pragma once

#include <string>

namespace weir {

/// Reports a broken invariant of Weir's own code (never a user's mistake) and ends the process.
[[noreturn]] void CheckFailed(const char* expression, const char* file, int line,
                              const std::string& detail = {});

}  // namespace weir

/// Checks an invariant of our own code. User input is answered with InvalidArgument instead.
#define WEIR_CHECK(condition) \
  ((condition) ? void(0) : ::weir::CheckFailed(#condition, __FILE__, __LINE__))
/// Checks the same, with a sentence that helps the reader of the message.
#define WEIR_CHECK_MSG(condition, detail) \
  ((condition) ? void(0) : ::weir::CheckFailed(#condition, __FILE__, __LINE__, (detail)))
