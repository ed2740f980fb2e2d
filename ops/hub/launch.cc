#include "ops/hub/launch.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string_view>

#include "common/supervision/supervision.h"
#include "common/text/parse_number.h"
#include "weir/error.h"

namespace weir {
namespace {

/// The variables of one launcher. Those after `ranks` may be missing.
struct Names {
  const char* by;
  const char* rank;
  const char* ranks;
  const char* local_rank;
  const char* local_size;
  const char* job;  ///< What tells this job from others, in one or two variables.
  const char* step;
};

constexpr Names kWeirrun = {Launch::kWeirrun,
                            supervision::kRankVariable,
                            supervision::kSizeVariable,
                            supervision::kLocalRankVariable,
                            supervision::kLocalSizeVariable,
                            supervision::kEngineFdVariable,
                            supervision::kEngineFdVariable};
constexpr Names kTorchrun = {
    Launch::kTorchrun,     "RANK",       "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE",
    "TORCHELASTIC_RUN_ID", "MASTER_PORT"};
constexpr Names kOpenMpi = {"Open MPI's mpirun",          "OMPI_COMM_WORLD_RANK",
                            "OMPI_COMM_WORLD_SIZE",       "OMPI_COMM_WORLD_LOCAL_RANK",
                            "OMPI_COMM_WORLD_LOCAL_SIZE", "PMIX_NAMESPACE",
                            "OMPI_MCA_ess_base_jobid"};
constexpr Names kSlurm = {"srun",
                          "SLURM_PROCID",
                          "SLURM_STEP_NUM_TASKS",
                          "SLURM_LOCALID",
                          "SLURM_STEP_TASKS_PER_NODE",
                          "SLURM_JOB_ID",
                          "SLURM_STEP_ID"};

std::string Value(const ReadVariable& read, const char* name) {
  const char* value = read(name);
  return value == nullptr ? "" : value;
}

int Number(const ReadVariable& read, const char* name, int otherwise, int least, int most) {
  std::string text = Value(read, name);
  if (text.empty()) return otherwise;
  // Slurm writes "4(x2)" for two hosts of four, and "2,1" for hosts that differ.
  text.resize(std::min(text.find_first_of("(,"), text.size()));
  const auto number = ParseNumber<int>(text);
  if (!number || *number < least || *number > most) {
    throw InvalidArgument(std::string(name) + "=" + Value(read, name) +
                          ", which this process has from its launcher, is not a number from " +
                          std::to_string(least) + " to " + std::to_string(most));
  }
  return *number;
}

/// Returns a port below those that systems give out by themselves.
std::uint16_t PortFor(std::string_view job) {
  std::uint32_t hash = 2166136261;
  for (const char c : job) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619;
  return static_cast<std::uint16_t>(20000 + hash % 12000);
}

/// Returns the first host of "n[03-05,9],m1": "n03".
std::string FirstHost(const std::string& list) {
  const std::size_t end = list.find_first_of(",[");
  if (end == std::string::npos || list[end] == ',') return list.substr(0, end);
  const std::size_t number = end + 1;
  const std::size_t close = std::min(list.find(']', number), list.size());
  const std::size_t rest = std::min(list.find(',', close), list.size());
  return list.substr(0, end) + list.substr(number, list.find_first_of("-,]", number) - number) +
         (close < rest ? list.substr(close + 1, rest - close - 1) : "");
}

Launch Read(const ReadVariable& read, const Names& names) {
  constexpr int kMost = 65535;
  Launch launch{.by = names.by};
  launch.ranks = Number(read, names.ranks, 1, 1, kMost);
  launch.rank = Number(read, names.rank, 0, 0, launch.ranks - 1);
  launch.local_rank = Number(read, names.local_rank, 0, 0, launch.ranks - 1);
  const int told = Number(read, names.local_size, 0, 1, kMost);
  // Hosts need not be alike, and Slurm tells the first one's number.
  launch.local_size = std::max({told, 1, launch.local_rank + 1});
  launch.hub_port = PortFor(Value(read, names.job) + "." + Value(read, names.step));
  if (told == launch.ranks) launch.hub_host = "127.0.0.1";
  return launch;
}

/// Variables from which a process learns that it is one of several: a number above 0, or above 1
/// for a size, says so. One of them alone is not enough to find the others.
struct Signs {
  const char* by;
  std::initializer_list<const char*> ranks;
  std::initializer_list<const char*> sizes;
  const char* advice;
};

constexpr char kSetBoth[] = "set both RANK and WORLD_SIZE, or neither to train alone";
constexpr char kStartByWeirrun[] = "start the program with weirrun";

const std::array<Signs, 9>& AllSigns() {
  static const std::array<Signs, 9> signs = {{
      {Launch::kTorchrun, {"RANK", "LOCAL_RANK"}, {"WORLD_SIZE", "LOCAL_WORLD_SIZE"}, kSetBoth},
      {"Open MPI's mpirun",
       {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK"},
       {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"},
       "pass on all that mpirun has set"},
      {"srun", {"SLURM_PROCID"}, {"SLURM_STEP_NUM_TASKS"}, "pass on all that srun has set"},
      {"horovodrun", {"HOROVOD_RANK"}, {"HOROVOD_SIZE"}, kStartByWeirrun},
      {"MVAPICH's launcher", {"MV2_COMM_WORLD_RANK"}, {"MV2_COMM_WORLD_SIZE"}, kStartByWeirrun},
      {"a launcher with PMI", {"PMI_RANK"}, {"PMI_SIZE"}, kStartByWeirrun},
      {"a launcher with PMIx", {"PMIX_RANK"}, {}, kStartByWeirrun},
      {"Flux", {"FLUX_TASK_RANK"}, {"FLUX_JOB_SIZE"}, kStartByWeirrun},
      {"jsrun", {"JSM_NAMESPACE_RANK"}, {"JSM_NAMESPACE_SIZE"}, kStartByWeirrun},
  }};
  return signs;
}

bool IsAbove(const ReadVariable& read, const char* name, int bound) {
  const auto number = ParseNumber<int>(Value(read, name));
  return number && *number > bound;
}

[[noreturn]] void ThrowSign(const ReadVariable& read, const Signs& signs, const char* name) {
  throw InvalidArgument(std::string(name) + "=" + Value(read, name) +
                        " says that this process is one of several that " + signs.by +
                        " has started, and the other variables that it needs to find them are "
                        "missing: " +
                        signs.advice);
}

}  // namespace

void ThrowIfOneOfSeveral(const ReadVariable& read) {
  for (const Signs& signs : AllSigns()) {
    for (const char* const name : signs.ranks) {
      if (IsAbove(read, name, 0)) ThrowSign(read, signs, name);
    }
    for (const char* const name : signs.sizes) {
      if (IsAbove(read, name, 1)) ThrowSign(read, signs, name);
    }
  }
  // Rank 0 of several would be alone as well.
  if (!Value(read, "RANK").empty() && !Value(read, "MASTER_ADDR").empty()) {
    ThrowSign(read, AllSigns().front(), "MASTER_ADDR");
  }
}

std::string MaybeOneOfSeveral(const ReadVariable& read) {
  if (!IsAbove(read, "SLURM_NTASKS", 1) || !Value(read, "SLURM_STEP_ID").empty()) return "";
  return "this process trains alone in a Slurm job of " + Value(read, "SLURM_NTASKS") +
         " tasks (SLURM_NTASKS): srun or weirrun starts all of them";
}

std::optional<Launch> LaunchFromEnvironment(const ReadVariable& read) {
  const auto set_by = [&](const Names& names) {
    return !Value(read, names.rank).empty() && !Value(read, names.ranks).empty();
  };
  if (read(supervision::kEngineFdVariable) != nullptr) {
    if (!set_by(kWeirrun)) return {};
    return Read(read, kWeirrun);
  }
  // torchrun first: it may itself run under the others, one on each host.
  if (set_by(kTorchrun)) {
    Launch launch = Read(read, kTorchrun);
    if (launch.hub_host.empty()) launch.hub_host = Value(read, "MASTER_ADDR");
    return launch;
  }
  if (set_by(kOpenMpi)) return Read(read, kOpenMpi);
  if (set_by(kSlurm)) {
    Launch launch = Read(read, kSlurm);
    if (launch.hub_host.empty()) launch.hub_host = FirstHost(Value(read, "SLURM_STEP_NODELIST"));
    return launch;
  }
  return {};
}

}  // namespace weir
