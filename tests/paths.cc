#include "tests/paths.h"

namespace weir {

std::string TreePath(std::string_view path) {
  return std::string(WEIR_TREE_FOLDER "/").append(path);
}

std::string BuildPath(std::string_view path) {
  return std::string(WEIR_BUILD_FOLDER "/").append(path);
}

}  // namespace weir
