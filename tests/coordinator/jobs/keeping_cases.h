#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "compression/options/options.h"
#include "coordinator/routes/routes.h"

namespace weir {

/// Momentum's effect on a gradient before it is accumulated; its coefficient is 0.9.
enum class Before { kNothing, kDgcVanilla, kDgcNesterov, kNesterov };

/// A compressor that keeps unsent entries, and a route.
struct KeepingCase {
  std::string name;
  CompressionOptions options;  ///< For tensors of any size, in parts of 100 elements.
  RouteKind route = RouteKind::kGather;
  Before before = Before::kNothing;
  int ranks_per_contributor = 1;  ///< More if a host's ranks compress together.
  double sum_unit = 0x1p-24;      ///< Half an ulp of 1 in the type of the payloads' sums.

  friend void PrintTo(const KeepingCase& one, std::ostream* out) { *out << one.name; }
};

/// Returns each compressor of the registry that keeps unsent entries, with each kind of momentum,
/// and without any with each coding of values and way to select; on each of its routes.
std::vector<KeepingCase> KeepingCases();

}  // namespace weir
