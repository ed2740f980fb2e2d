#include "common/check.h"

#include <cstdio>
#include <cstdlib>

namespace weir {

void CheckFailed(const char* expression, const char* file, int line, const std::string& detail) {
  std::fprintf(stderr, "weir: broken invariant: %s at %s:%d%s%s\n", expression, file, line,
               detail.empty() ? "" : ": ", detail.c_str());
  std::fflush(stderr);
  std::abort();
}

}  // namespace weir
