#include "tests/paths.h"

namespace weir {

std::string TreePath(std::string_view file) {
  return std::string(WEIR_TREE_FOLDER "/").append(file);
}

std::string BuildPath(std::string_view file) {
  return std::string(WEIR_BUILD_FOLDER "/").append(file);
}

}  // namespace weir
