#pragma once

#include <string>

namespace weir {

/// NCCL's library, where there is one that can be used. Stays loaded for the life of the process.
class NcclLibrary {
 public:
  /// The oldest that can, in NCCL's way of counting: 2.18.
  static constexpr int kOldest = 21800;

  /// `path` empty: the one that is loaded already, as a framework brings one, otherwise the one
  /// that the system finds as libnccl.so.2.
  static NcclLibrary Load(const std::string& path);

  /// As NCCL says it: 22803 for 2.28.3. 0: there is none, and trouble() says why.
  int version() const { return version_; }
  const std::string& trouble() const { return trouble_; }

  /// The function of this name, or null.
  void* Find(const char* name) const;

 private:
  void* handle_ = nullptr;
  int version_ = 0;
  std::string trouble_;
};

/// "2.28.3" of 22803.
std::string NcclVersionText(int version);

}  // namespace weir
