#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace weir {

/// This process's place in the job of the launcher that has started it, by the variables that it
/// has set.
struct Launch {
  static constexpr char kWeirrun[] = "weirrun";
  static constexpr char kTorchrun[] = "torchrun";

  std::string by;  ///< kWeirrun, kTorchrun, "srun" or the like, for people.
  int rank = 0;
  int ranks = 1;
  int local_rank = 0;
  int local_size = 1;
  std::string hub_host;        ///< Rank 0's; empty: the launcher does not tell.
  std::uint16_t hub_port = 0;  ///< Made from the job's number, the same on all ranks.
};

/// Returns the value of an environment variable; null if there is none.
using ReadVariable = std::function<const char*(const char* name)>;

/// Reads the variables of weirrun, torchrun and its kin (RANK, WORLD_SIZE), Open MPI's mpirun, and
/// Slurm's srun. Nothing if no launcher has set them. Throws InvalidArgument for numbers that
/// cannot be.
std::optional<Launch> LaunchFromEnvironment(const ReadVariable& read);

/// Throws InvalidArgument if variables of some launcher say that this process, for which
/// LaunchFromEnvironment finds nothing, is one of several: it must not become a job of its own.
void ThrowIfOneOfSeveral(const ReadVariable& read);
/// Returns a warning, or "", for a process that could be meant as one of several.
std::string MaybeOneOfSeveral(const ReadVariable& read);

}  // namespace weir
