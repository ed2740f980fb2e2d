#include "common/gpu/gpu_library.h"

#include <dlfcn.h>

#include <filesystem>

#include "common/libraries/library_file.h"
#include "common/libraries/own_folder.h"

namespace weir {
namespace {

constexpr const char* kGpuLibraryName = "libweir_cuda.so";

std::string OwnPath() {
  const std::filesystem::path own = OwnFolder();
  for (const char* folder : {"../lib", "../lib64"}) {  // Of a program beside them.
    const std::filesystem::path path = (own / folder / kGpuLibraryName).lexically_normal();
    if (std::filesystem::exists(path)) return path.string();
  }
  return (own / kGpuLibraryName).string();
}

}  // namespace

GpuLibrary GpuLibrary::Load(const std::string& given) {
  const std::string path = given.empty() ? OwnPath() : given;
  GpuLibrary library;
  if (!std::filesystem::exists(path)) {
    library.trouble_ = "there is no " + path + ": " +
                       (given.empty() ? "build it with the preset cuda, which needs nvcc"
                                      : "set WEIR_GPU_LIBRARY to its path, or unset it");
    return library;
  }
  if (library.trouble_ = DamageOf(path); !library.trouble_.empty()) return library;
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    library.trouble_ = "it cannot be loaded (" + std::string(dlerror()) + ")";
    if (!given.empty()) library.trouble_ += ": WEIR_GPU_LIBRARY must name libweir_cuda.so";
    return library;
  }
  using Entry = const GpuApi* (*)();
  const auto entry = reinterpret_cast<Entry>(dlsym(handle, "weir_gpu_api"));
  if (entry == nullptr) {
    library.trouble_ = path + " is not a library of Weir: it has no weir_gpu_api";
    return library;
  }
  const GpuApi* const api = entry();
  if (api == nullptr || api->version != GpuApi::kVersion) {
    library.trouble_ = path + " is from another version of Weir: build and install both together";
    return library;
  }
  library.handle_ = handle;
  library.api_ = api;
  return library;
}

void* GpuLibrary::Find(const char* name) const {
  return api_ == nullptr ? nullptr : dlsym(handle_, name);
}

GpuSupport FindGpuSupport(const GpuLibrary& library) {
  if (library.api() == nullptr) return {false, library.trouble()};
  return FindGpuSupport(*library.api());
}

GpuSupport FindGpuSupport(const GpuApi& api) {
  std::string trouble;
  const int count = api.count_devices(trouble);
  if (count == 0) return {false, trouble};
  std::string text;
  for (int device = 0; device < count; ++device) {
    text += (device == 0 ? "" : "; ") + api.describe_device(device);
  }
  return {true, text};
}

}  // namespace weir
