#include "common/libraries/own_folder.h"

#include <dlfcn.h>

#include <system_error>

namespace weir {

std::filesystem::path OwnFolder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&OwnFolder), &info) == 0) return {};
  std::error_code trouble;
  const std::filesystem::path own = std::filesystem::canonical(info.dli_fname, trouble);
  return own.parent_path();
}

}  // namespace weir
