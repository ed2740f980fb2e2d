#include "common/gpu/nccl_library.h"

#include <dlfcn.h>

#include "common/libraries/library_file.h"

namespace weir {
namespace {

constexpr const char* kNcclLibraryName = "libnccl.so.2";

void* Open(const std::string& path) {
  if (!path.empty()) return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  // Two NCCLs in one process would each take memory and threads.
  void* const loaded = dlopen(kNcclLibraryName, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  return loaded != nullptr ? loaded : dlopen(kNcclLibraryName, RTLD_NOW | RTLD_LOCAL);
}

}  // namespace

std::string NcclVersionText(int version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

NcclLibrary NcclLibrary::Load(const std::string& path) {
  const std::string name = path.empty() ? kNcclLibraryName : path;
  NcclLibrary library;
  if (library.trouble_ = DamageOf(path); !library.trouble_.empty()) return library;
  library.handle_ = Open(path);
  if (library.handle_ == nullptr) {
    library.trouble_ = dlerror();
    return library;
  }
  using GetVersion = int (*)(int*);
  const auto get_version = reinterpret_cast<GetVersion>(library.Find("ncclGetVersion"));
  if (get_version == nullptr) {
    library.trouble_ = name + " is not NCCL: it has no ncclGetVersion";
    return library;
  }
  int version = 0;
  if (get_version(&version) != 0 || version < kOldest) {
    library.trouble_ = name + " is NCCL " + NcclVersionText(version) + ", and " +
                       NcclVersionText(kOldest) + " or newer is needed";
    return library;
  }
  library.version_ = version;
  return library;
}

void* NcclLibrary::Find(const char* name) const {
  return handle_ == nullptr ? nullptr : dlsym(handle_, name);
}

}  // namespace weir
