#include "common/settings/variable_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <string_view>

#include "common/settings/settings_table.h"
#include "common/text/nearest.h"

namespace weir {
namespace {

// Variables of Horovod, without "HOROVOD_", that change its behaviour.
constexpr std::array<std::string_view, 18> kRequests = {"ADASUM_MPI_CHUNK_SIZE",
                                                        "AUTOTUNE_GAUSSIAN_PROCESS_NOISE",
                                                        "BATCH_D2D_MEMCOPIES",
                                                        "CCL_BGT_AFFINITY",
                                                        "CCL_CACHE",
                                                        "CONTROLLER",
                                                        "CPU_OPERATIONS",
                                                        "DISABLE_GROUP_FUSION",
                                                        "DISABLE_NVTX_RANGES",
                                                        "ELASTIC_TIMEOUT",
                                                        "ENABLE_ASYNC_COMPLETION",
                                                        "ENABLE_XLA_OPS",
                                                        "GLOO_IFACE",
                                                        "GLOO_TIMEOUT_SECONDS",
                                                        "MPI_THREADS_DISABLE",
                                                        "NUM_NCCL_STREAMS",
                                                        "THREAD_AFFINITY",
                                                        "TORUS_ALLREDUCE"};
// Variables that Horovod's launcher sets or installation reads, or that ask for a default here.
constexpr std::array<std::string_view, 13> kFacts = {"BUILD_ARCH_FLAGS",
                                                     "BUILD_CUDA_CC_LIST",
                                                     "CROSS_RANK",
                                                     "CROSS_SIZE",
                                                     "DYNAMIC_PROCESS_SETS",
                                                     "ELASTIC",
                                                     "HOSTNAME",
                                                     "LOCAL_RANK",
                                                     "LOCAL_SIZE",
                                                     "MPICXX_SHOW",
                                                     "NCCL_LINK",
                                                     "RANK",
                                                     "SIZE"};
constexpr std::array<std::string_view, 9> kFactPrefixes = {
    "ALLOW_", "CUDA_", "GLOO_RENDEZVOUS_", "GPU_", "NCCL_", "ROCM_", "SPARK_", "WITHOUT_", "WITH_"};

bool IsFact(std::string_view name) {
  return std::ranges::find(kFacts, name) != kFacts.end() ||
         std::ranges::any_of(kFactPrefixes, [&](auto prefix) { return name.starts_with(prefix); });
}

/// Returns the name without "HOROVOD_"; empty when it does not begin so.
std::string_view HorovodName(std::string_view variable) {
  constexpr std::string_view kPrefix = "HOROVOD_";
  return variable.starts_with(kPrefix) ? variable.substr(kPrefix.size()) : std::string_view();
}

bool IsRequest(std::string_view name) {
  return std::ranges::find(kRequests, name) != kRequests.end();
}

bool SaysNo(std::string value) {
  std::ranges::transform(value, value.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  constexpr std::array<std::string_view, 6> kNo = {"", "0", "false", "no", "off", "none"};
  return std::ranges::find(kNo, value) != kNo.end();
}

}  // namespace

std::vector<std::string> UnknownVariables(const Environment& environment,
                                          std::span<const std::string> known) {
  std::vector<std::string> candidates(known.begin(), known.end());
  for (const std::string_view name : kRequests)
    candidates.push_back("HOROVOD_" + std::string(name));
  std::vector<std::string> warnings;
  for (const auto& [name, value] : environment) {
    const std::string_view horovod = HorovodName(name);
    if (horovod.empty() && !name.starts_with("WEIR_")) continue;
    if (IsInternalVariable(name) || IsFact(horovod)) continue;
    if (std::ranges::find(candidates, name) != candidates.end()) continue;
    // A slip in a name leaves its prefix intact.
    std::vector<std::string> alike;
    std::ranges::copy_if(candidates, std::back_inserter(alike), [&](const std::string& candidate) {
      return candidate.starts_with(horovod.empty() ? "WEIR_" : "HOROVOD_");
    });
    warnings.push_back("the environment variable " + name + " is not a setting and is ignored" +
                       DidYouMean(name, alike));
  }
  return warnings;
}

std::vector<std::string> IgnoredHorovodVariables(const Environment& environment,
                                                 std::span<const std::string> known) {
  std::vector<std::string> ignored;
  for (const auto& [name, value] : environment) {
    if (!IsRequest(HorovodName(name)) || std::ranges::find(known, name) != known.end()) continue;
    const bool is_what_happens = name.ends_with("_CONTROLLER") || name.ends_with("_OPERATIONS");
    if (SaysNo(value) || (is_what_happens && (value == "mpi" || value == "MPI"))) continue;
    ignored.push_back(name + "=" + value);
  }
  return ignored;
}

}  // namespace weir
