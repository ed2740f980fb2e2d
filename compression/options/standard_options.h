#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compression/options/options.h"
#include "compression/options/registry.h"
#include "compression/random/counter_random.h"
#include "compression/wire/sparse_payload.h"
#include "warmup/schedule.h"

/// Keys that several compressors share, in groups that a registration joins as it needs them
/// (JoinSpecs), and the typed values read from them.
namespace weir {

/// kOfEntries: payloads list entries with their indices, so that they can be divided (route=split).
enum class Payloads { kWhole, kOfEntries };

/// min_elements, min_compress_bytes, policy, route, partition_bytes, max_staleness, host_values.
std::vector<OptionSpec> CommonSpecs(Payloads payloads = Payloads::kWhole);
/// The same keys with BytePS's default of 64 KiB.
std::vector<OptionSpec> FamilySpecs(Payloads payloads = Payloads::kWhole);
std::vector<OptionSpec> SizeSpecs();         ///< min_elements and min_compress_bytes alone.
std::vector<OptionSpec> ArrayRouteSpecs();   ///< The keys of the route, of whole arrays.
std::vector<OptionSpec> CountSpecs();        ///< k.
std::vector<OptionSpec> SeedSpecs();         ///< seed.
std::vector<OptionSpec> SelectionSpecs();    ///< density, steps.
std::vector<OptionSpec> ValueSpecs();        ///< values.
std::vector<OptionSpec> BeginSpecs();        ///< rampup_begin_step.
std::vector<OptionSpec> WarmupSpecs();       ///< sparsity, warmup_steps, rampup_*, schedule.
std::vector<OptionSpec> MemorySpecs();       ///< ef, momentum, momentum_mu.
std::vector<OptionSpec> StepSpecs();         ///< clip_norm, clip_scale, skip_nonfinite.
std::vector<OptionSpec> WeightDecaySpecs();  ///< weight_decay, weight_decay_form.

/// Settings that need the whole step before any state changes (StepGate).
struct StepSettings {
  std::optional<double> clip_norm;  ///< Global L2 norm of a rank's local mean gradient.
  /// The threshold is clip_norm * ranks^clip_scale; 0.5 suits independent gradients.
  double clip_scale = 0.5;
  bool skip_nonfinite = false;  ///< Skip the step on all ranks when any gradient is not finite.
};
struct WeightDecaySettings {
  double lambda = 0.0;
  /// True: g + lambda * w enters compression (Paddle). False: kept outside, b = m * b + lambda * w.
  bool local = false;
};

/// The functions below may be called for any compressor; absent keys take their defaults. They
/// throw InvalidArgument for keys that contradict each other.
Schedule ScheduleOf(const ParsedOptions& options);
/// Returns a warning about a run that is too short for its density, or
/// nothing: before the run, if "steps" tells its length; after it, once `done`
/// steps are made, if nothing told it.
std::string ShortRunWarningOf(const ParsedOptions& options, const std::string& owner);
std::string EndedShortWarningOf(const ParsedOptions& options, const std::string& owner,
                                std::int64_t done);
StepSettings StepSettingsOf(const ParsedOptions& options);
WeightDecaySettings WeightDecayOf(const ParsedOptions& options);
/// True if it sends some entries and forgets the others. Selecting options: a threshold, a warm-up.
bool ForgetsEntries(const ParsedOptions& options);
ValueType ValueTypeOf(const ParsedOptions& options);
/// Number of entries of each tensor that "k" asks for, or 0 when the density decides.
std::size_t FixedCountOf(const ParsedOptions& options);
/// Random numbers of "seed" for one tensor.
CounterRandom RandomOf(const ParsedOptions& options, const TensorSpec& tensor);
/// True if entries are selected among all tensors of a bucket (selection=bucket). Refuses that with
/// a route on which tensors travel to different places.
bool SelectsByBucket(const ParsedOptions& options);
/// Returns a caution for a compressor that selects entries and loses the others (ef=none).
std::string CautionOfLoss(const ParsedOptions& options);
/// Tensors of fewer elements stay dense.
std::size_t MinElementsOf(const ParsedOptions& options);

/// Throws InvalidArgument for a tensor with more elements than a sparse part can index.
void RequireSparseSize(const TensorSpec& tensor, const std::string& compressor);

}  // namespace weir
