#include "common/libraries/ucx_library.h"

#include <dlfcn.h>
#include <unistd.h>

#include "common/libraries/library_file.h"

namespace weir {
namespace {

constexpr const char* kUcxLibraryName = "libucp.so.0";

void* LoadedUcx(const char* name) { return dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD); }

/// True if the process has another UCX already. Two would share the parts (libucs) that were loaded
/// first, as these have the same names.
bool WouldBeTheSecond(const std::string& path) {
  void* const loaded = LoadedUcx(kUcxLibraryName);
  return loaded != nullptr && access(path.c_str(), F_OK) == 0 && LoadedUcx(path.c_str()) != loaded;
}

/// Returns what to open: a path, or a name for the system to find.
std::string Choice(const std::string& path, const std::string& folder) {
  if (!path.empty()) return path;
  const std::string in_folder = folder + "/" + kUcxLibraryName;
  const bool has_one = !folder.empty() && access(in_folder.c_str(), F_OK) == 0;
  return has_one && LoadedUcx(kUcxLibraryName) == nullptr ? in_folder : kUcxLibraryName;
}

}  // namespace

UcxLibrary UcxLibrary::Load(const std::string& path, const std::string& folder) {
  UcxLibrary library;
  library.name_ = Choice(path, folder);
  if (library.trouble_ = DamageOf(library.name_); !library.trouble_.empty()) return library;
  if (!path.empty() && WouldBeTheSecond(path)) {
    library.trouble_ = path +
                       " would be the second UCX of this process, as its MPI library has loaded "
                       "one: leave WEIR_UCX_LIBRARY out, or put the other's folder first in "
                       "LD_LIBRARY_PATH";
    return library;
  }
  library.handle_ = dlopen(library.name_.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library.handle_ == nullptr) {
    library.trouble_ = dlerror();
  } else {
    library.Check();
  }
  return library;
}

void UcxLibrary::Check() {
  using GetVersion = void (*)(unsigned* major, unsigned* minor, unsigned* release);
  const auto get_version = reinterpret_cast<GetVersion>(Find("ucp_get_version"));
  if (get_version == nullptr) {
    trouble_ = name_ + " is not UCX: it has no ucp_get_version";
    return;
  }
  unsigned major = 0, minor = 0, release = 0;
  get_version(&major, &minor, &release);
  version_ = std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(release);
  if (major == 1 && minor >= kOldestMinor) return;
  trouble_ = name_ + " is UCX " + version_ + ", and 1." + std::to_string(kOldestMinor) +
             " or a newer 1.x is needed";
}

void* UcxLibrary::Find(const char* function) const {
  return handle_ == nullptr ? nullptr : dlsym(handle_, function);
}

}  // namespace weir
