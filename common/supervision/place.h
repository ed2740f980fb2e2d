#pragma once

#include <optional>
#include <string>

#include "common/supervision/supervision.h"

namespace weir::supervision {

/// A rank's place among those of an elastic job that go on together.
struct Place {
  int rank = 0;
  int ranks = 1;
  int local_rank = 0;
  int local_ranks = 1;
  int epoch = 1;      ///< Counts how often ranks have been dealt.
  std::string host;   ///< This rank's, as weirrun names it.
  std::string hosts;  ///< Of all ranks in their order: "a:2,b:1,a:1".
};

/// Reads a kPlace. Nothing if its numbers do not fit.
std::optional<Place> ReadPlace(const Message& message);

/// True if the launcher of this process lets the job go on without ranks that are lost: it tells
/// each its place, again and again.
bool InElasticJob();

}  // namespace weir::supervision
