#pragma once

#include <string>

namespace weir {

/// NCCL's library, if one can be used. Stays loaded for the life of the process.
class NcclLibrary {
 public:
  /// The oldest usable version, as NCCL counts: 2.18.
  static constexpr int kOldest = 21800;

  /// `path` empty: the library that is loaded already, as a framework brings one; otherwise
  /// libnccl.so.2 as the system finds it.
  static NcclLibrary Load(const std::string& path);

  /// The version as NCCL counts: 22803 for 2.28.3. 0: there is none, and trouble() says why.
  int version() const { return version_; }
  const std::string& trouble() const { return trouble_; }

  /// Returns the function of this name, or null.
  void* Find(const char* name) const;

 private:
  void* handle_ = nullptr;
  int version_ = 0;
  std::string trouble_;
};

/// Writes 22803 as "2.28.3".
std::string NcclVersionText(int version);

}  // namespace weir
