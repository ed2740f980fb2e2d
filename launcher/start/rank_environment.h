#pragma once

#include "launcher/options/options.h"
#include "weir/settings.h"

namespace weir::launcher {

/// Sets the options' variables in this process, for the ranks to inherit, and returns the settings
/// that ranks will read. Throws InvalidArgument for a wrong one, so that nothing starts, and under
/// strict settings for every option that has no effect; notes options that only have none over the
/// network that is chosen. Not thread-safe.
Settings PrepareEnvironment(Options& options);

/// A process's place among all of a job, summation servers included.
struct RankPlace {
  int rank = 0;
  int size = 1;
  int local_rank = 0;
  int local_size = 1;
};

/// Reads it from Hydra's variables. Throws InvalidArgument when they are not set.
RankPlace PlaceFromHydra();

/// Sets the variables that tell the program its place: Weir's own, those of Horovod's launcher
/// (HOROVOD_RANK, ...), and but for elastic jobs those of torchrun (RANK, ...). Not thread-safe.
void SetPlace(const RankPlace& place);

}  // namespace weir::launcher
