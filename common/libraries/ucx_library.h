#pragma once

#include <string>

namespace weir {

/// UCX's library (libucp.so.0), if a usable one is found. Stays loaded for the life of the process.
/// Loading is thread-safe.
class UcxLibrary {
 public:
  /// The oldest usable version is 1.20: older ones leave out shared memory, without a word, where a
  /// dead peer must be an error (docs/explanation/ucx.md).
  static constexpr unsigned kOldestMinor = 20;

  /// `path` empty: the library that is loaded already, as MPICH brings one; otherwise the one in
  /// `folder`, where that is given and has one; otherwise libucp.so.0 as the system finds it.
  static UcxLibrary Load(const std::string& path, const std::string& folder = {});

  /// Empty with a usable library; otherwise why there is none.
  const std::string& trouble() const { return trouble_; }
  /// Version such as "1.20.1"; empty without a library.
  const std::string& version() const { return version_; }
  /// Path of the library, or its name where it was loaded already.
  const std::string& name() const { return name_; }

  /// Returns the function of this name, or of a library that UCX's own needs; null without one.
  void* Find(const char* function) const;

 private:
  void Check();

  void* handle_ = nullptr;
  std::string name_;
  std::string version_;
  std::string trouble_;
};

}  // namespace weir
