#pragma once

#include <string>

#include "ops/nccl/api.h"

namespace weir::nccl {

/// The functions of NCCL's library, if a usable one is found (common/gpu/nccl_library.h).
class Library {
 public:
  /// `path` as for NcclLibrary::Load.
  static Library Load(const std::string& path);

  /// Null without a usable library; trouble() then says why.
  const Api* api() const { return trouble_.empty() ? &api_ : nullptr; }
  const std::string& trouble() const { return trouble_; }

 private:
  Api api_{};
  std::string trouble_;
};

}  // namespace weir::nccl
