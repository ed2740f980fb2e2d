#include "compression/options/standard_options.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include "warmup/run_length.h"
#include "weir/error.h"

namespace weir {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Reads an option with two names; refuses two values that differ.
std::int64_t EitherInteger(const ParsedOptions& options, const std::string& a,
                           const std::string& b) {
  if (options.Given(a) && options.Given(b) && options.Integer(a) != options.Integer(b)) {
    options.Refuse(a, "contradicts \"" + b + "\", which means the same; keep one");
  }
  if (options.Given(b)) return options.Integer(b);
  return options.Has(a) ? options.Integer(a) : 0;
}

std::vector<OptionSpec> LeastSpecs(const std::string& elements, const std::string& bytes) {
  return {
      {"min_elements", elements, IntegerRule{0},
       "Tensors with fewer elements are sent dense. With dgc, so are tensors of one dimension "
       "(biases, norms)."},
      {"min_compress_bytes", bytes, IntegerRule{0},
       "The same as min_elements, in bytes of fp32, as in BytePS."},
  };
}

OptionSpec RouteSpec(Payloads payloads) {
  const std::string ways =
      "How compressed gradients travel: from every rank to every other (allgather); from host to "
      "host, after the ranks of a host have averaged theirs dense (hierarchical); or to servers, "
      "which add them up, compress the mean again and send it back (push_pull)";
  if (payloads == Payloads::kWhole) {
    return {"route", "allgather", ChoiceRule{{"allgather", "hierarchical", "push_pull"}},
            ways + "."};
  }
  return {
      "route", "allgather", ChoiceRule{{"allgather", "split", "hierarchical", "push_pull"}},
      ways +
          "; or divided, where each rank adds up a range of the indices for all (split): it gives "
          "the bits of allgather, with less traffic where many ranks send the same entries."};
}

OptionSpec PartitionSpec() {
  return {
      "partition_bytes", "4096000", IntegerRule{4},
      "With route=push_pull, or where that is an alternative, a tensor of more bytes of fp32 is "
      "cut into partitions, each with a server of its own."};
}

OptionSpec StalenessSpec() {
  return {"max_staleness", "0", IntegerRule{0},
          "With route=push_pull, ranks do not wait for each other (asynchronous training), but "
          "none applies step t + max_staleness before all have sent step t. 0: they wait."};
}

std::vector<OptionSpec> PolicySpecs(Payloads payloads) {
  return {{"policy", "auto", ChoiceRule{{"auto", "always", "never"}},
           "Form in which compressed gradients travel: as they are (always), or decoded, in dense "
           "arrays (never). auto takes whichever carries less, but keeps route=hierarchical."},
          RouteSpec(payloads),
          PartitionSpec(),
          StalenessSpec(),
          {"host_values", "fp32", ChoiceRule{{"fp32", "fp16"}},
           "With route=hierarchical, the type in which the ranks of a host exchange gradients to "
           "average them. fp16 halves that traffic; it loses what it rounds off, and limits values "
           "to its largest number."}};
}

double AutoDensity(const ParsedOptions& options, std::int64_t begin_step) {
  if (!options.Has("steps")) {
    options.Refuse("density",
                   "depends on the length of the run: also give \"steps\", the number of optimizer "
                   "steps that the whole run will make");
  }
  return DensityForRun(std::max<std::int64_t>(options.Integer("steps") - begin_step, 1));
}

/// Refuses a warm-up without a length.
void RefuseWarmupWithoutSteps(const ParsedOptions& options) {
  const std::string give = ": also give \"warmup_steps\", its length in steps";
  if (options.Choice("schedule") == "exponential") {
    options.Refuse("schedule", "lets the density fall during a warm-up" + give);
  }
  if (options.Choice("schedule") == "list" && options.Has("sparsity") &&
      options.RealList("sparsity").size() > 1) {
    options.Refuse("sparsity", "has the stages of a warm-up" + give + ", or the last entry alone");
  }
}

}  // namespace

std::vector<OptionSpec> CommonSpecs(Payloads payloads) {
  return JoinSpecs({LeastSpecs("1024", ""), PolicySpecs(payloads)});
}
std::vector<OptionSpec> FamilySpecs(Payloads payloads) {
  return JoinSpecs({SizeSpecs(), PolicySpecs(payloads)});
}
std::vector<OptionSpec> SizeSpecs() { return LeastSpecs("", "65536"); }

std::vector<OptionSpec> ArrayRouteSpecs() {
  return {{"route", "allreduce", ChoiceRule{{"allreduce", "push_pull"}},
           "How gradients travel: from rank to rank (allreduce), or to servers, which average them "
           "and send the mean back (push_pull)."},
          PartitionSpec(),
          StalenessSpec()};
}

std::vector<OptionSpec> CountSpecs() {
  return {{"k", "", CountOrFractionRule{},
           "Entries sent: a number for each tensor (each partition of it with route=push_pull), or "
           "a fraction, which means the same as density."}};
}

std::vector<OptionSpec> SeedSpecs() {
  return {{"seed", "0", IntegerRule{0}, "Seed of the random numbers; 0 is a seed like any other."}};
}

std::vector<OptionSpec> SelectionSpecs() {
  return {
      {"density", "", RealOrAutoRule{{0.0, 1.0, true}},
       "Fraction of entries sent after the warm-up; 0.001 unless something else sets it. auto: 10 "
       "/ steps, at least 0.001 and at most 0.25."},
      {"steps", "", IntegerRule{1},
       "Optimizer steps of the whole run. density=auto needs it, and a warning says if the run is "
       "too short for its density."},
  };
}

std::vector<OptionSpec> ValueSpecs() {
  return {
      {"values", "fp16", ChoiceRule{{kValueTypeNames.begin(), kValueTypeNames.end()}},
       "Type of the values sent: fp16, with a power-of-two scale for each tensor; fp32; int8 or "
       "int4, multiples of one step for each tensor; or int2, a sign and one of two magnitudes for "
       "each tensor. dgc keeps what rounding loses for later steps; others do with ef=vanilla."}};
}

std::vector<OptionSpec> BeginSpecs() {
  return {
      {"rampup_begin_step", "0", IntegerRule{0}, "Gradients are sent dense before this step."},
  };
}

std::vector<OptionSpec> WarmupSpecs() {
  return {
      {"schedule", "list", ChoiceRule{{"list", "exponential", "constant"}},
       "Shape of the density's fall during the warm-up."},
      {"warmup_steps", "0", IntegerRule{0},
       "Length of the warm-up in steps; rampup_step means the same."},
      {"rampup_step", "", IntegerRule{0}, "Paddle's name for warmup_steps."},
      BeginSpecs().front(),
      {"sparsity", "", RealListRule{{0.0, 1.0, false, true}},
       "Sparsities (1 - density) of the warm-up's stages, which are equally long; the last one "
       "stays."},
  };
}

std::vector<OptionSpec> MemorySpecs() {
  return {
      {"ef", "none", ChoiceRule{{"none", "vanilla"}},
       "Error feedback: what was not sent is added to the next gradient."},
      {"momentum", "none", ChoiceRule{{"none", "nesterov"}},
       "Momentum before compression; an SGD's own momentum moves there."},
      {"momentum_mu", "", RealRule{0.0, 1.0, false, true},
       "Momentum coefficient; by default an SGD's, which then applies none itself."},
  };
}

std::vector<OptionSpec> StepSpecs() {
  return {
      {"clip_norm", "", RealRule{0.0, kInfinity, true},
       "Clips a rank's local mean gradient to this L2 norm over all parameters."},
      {"clip_scale", "0.5", RealRule{-1.0, 1.0},
       "Scales the clipping threshold with the number of ranks: it is clip_norm * "
       "ranks^clip_scale."},
      {"skip_nonfinite", "false", FlagRule{},
       "Skips the step on all ranks when a gradient is inf or NaN, instead of counting such "
       "entries as 0."},
  };
}

std::vector<OptionSpec> WeightDecaySpecs() {
  return {
      {"weight_decay", "0", RealRule{0.0, kInfinity},
       "Coefficient of weight decay; needs an optimizer."},
      {"weight_decay_form", "outside", ChoiceRule{{"outside", "local"}},
       "outside: b = m * b + decay * w, never compressed; local: decay * w joins the gradient."},
  };
}

std::string ShortRunWarningOf(const ParsedOptions& options, const std::string& owner) {
  if (!options.Has("steps") || FixedCountOf(options) > 0) return {};
  const Schedule schedule = ScheduleOf(options);
  return ShortRunWarning(owner, options.Integer("steps") - schedule.begin_step(),
                         schedule.final_density());
}

std::string EndedShortWarningOf(const ParsedOptions& options, const std::string& owner,
                                std::int64_t done) {
  if (!options.Has("schedule")) return {};  // The compressor does not select by density.
  if (options.Has("steps") || FixedCountOf(options) > 0) return {};
  const Schedule schedule = ScheduleOf(options);
  if (schedule.final_density() >= 1.0) return {};  // Nothing has to wait.
  return EndedShortWarning(owner, done - schedule.begin_step(), schedule.final_density());
}

Schedule ScheduleOf(const ParsedOptions& options) {
  ScheduleSettings settings;
  if (options.Has("rampup_begin_step")) settings.begin_step = options.Integer("rampup_begin_step");
  if (!options.Has("schedule")) {
    settings.final_density = 1.0;
    return MakeSchedule(settings);
  }
  const bool counts = FixedCountOf(options) > 0;
  if (!counts && !options.Given("warmup_steps") && !options.Given("rampup_step")) {
    RefuseWarmupWithoutSteps(options);
  }
  const std::string& form = options.Choice("schedule");
  settings.form = form == "list"          ? ScheduleForm::kList
                  : form == "exponential" ? ScheduleForm::kExponential
                                          : ScheduleForm::kConstant;
  settings.warmup_steps = EitherInteger(options, "warmup_steps", "rampup_step");
  if (settings.form == ScheduleForm::kConstant) {
    for (const char* key : {"warmup_steps", "rampup_step"}) {
      if (!options.Given(key)) continue;
      options.Refuse(key, "has no effect with \"schedule\" = \"constant\": leave one of them out");
    }
  }
  if (options.Given("density") && options.Given("k")) {
    options.Refuse("density", "and \"k\" both say how much is sent; leave one of them out");
  }
  if (options.IsAuto("density")) {
    settings.final_density = AutoDensity(options, settings.begin_step);
  } else if (options.Has("density")) {
    settings.final_density = options.Real("density");
  }
  if (options.Has("k") && options.Real("k") < 1.0) settings.final_density = options.Real("k");
  if (options.Has("sparsity")) {
    for (const char* other : {"density", "k"}) {
      if (options.Given(other)) {
        options.Refuse("sparsity", "says the final density in its last entry; leave out \"" +
                                       std::string(other) + "\"");
      }
    }
    for (double sparsity : options.RealList("sparsity")) settings.stages.push_back(1.0 - sparsity);
    settings.final_density = settings.stages.back();
    if (settings.form == ScheduleForm::kConstant && settings.stages.size() > 1) {
      options.Refuse("sparsity",
                     "has more than one entry, of which \"schedule\" = \"constant\" "
                     "takes the last: leave the others out");
    }
  }
  return MakeSchedule(settings);
}

StepSettings StepSettingsOf(const ParsedOptions& options) {
  StepSettings settings;
  if (options.Has("clip_norm")) settings.clip_norm = options.Real("clip_norm");
  if (options.Has("clip_scale")) settings.clip_scale = options.Real("clip_scale");
  if (options.Has("skip_nonfinite")) settings.skip_nonfinite = options.Flag("skip_nonfinite");
  return settings;
}

WeightDecaySettings WeightDecayOf(const ParsedOptions& options) {
  WeightDecaySettings settings;
  if (options.Has("weight_decay")) settings.lambda = options.Real("weight_decay");
  if (options.Has("weight_decay_form")) {
    settings.local = options.Choice("weight_decay_form") == "local";
  }
  return settings;
}

bool ForgetsEntries(const ParsedOptions& options) {
  const bool selects = options.Has("threshold") || options.Has("warmup_steps");
  return selects && options.Has("ef") && options.Choice("ef") == "none";
}

ValueType ValueTypeOf(const ParsedOptions& options) {
  if (!options.Has("values")) return ValueType::kFloat16;
  const auto at = std::ranges::find(kValueTypeNames, options.Choice("values"));
  return static_cast<ValueType>(at - kValueTypeNames.begin());
}

std::size_t FixedCountOf(const ParsedOptions& options) {
  if (!options.Has("k") || options.Real("k") < 1.0) return 0;
  for (const char* key : {"warmup_steps", "rampup_step", "schedule"}) {
    const bool warms_up = key != std::string_view("schedule") || options.Choice(key) != "constant";
    if (options.Given(key) && warms_up)
      options.Refuse(key, "needs a density, but \"k\" is a count");
  }
  return static_cast<std::size_t>(options.Real("k"));
}

CounterRandom RandomOf(const ParsedOptions& options, const TensorSpec& tensor) {
  return {static_cast<std::uint64_t>(options.Integer("seed")), tensor.name};
}

bool SelectsByBucket(const ParsedOptions& options) {
  if (!options.Has("selection") || options.Choice("selection") != "bucket") return false;
  if (options.Choice("route") == "push_pull") {
    options.Refuse("selection",
                   "selects among all tensors of a bucket, but with route=push_pull a server sees "
                   "some of them, in parts: leave one of the two out");
  }
  return true;
}

std::string CautionOfLoss(const ParsedOptions& options) {
  if (!ForgetsEntries(options) || options.Given("ef")) return {};
  const bool sends_all = options.Has("schedule") && FixedCountOf(options) == 0 &&
                         ScheduleOf(options).final_density() >= 1.0;
  if (sends_all) return {};
  return "what " + options.compressor() +
         " does not send is lost, and training suffers the more the less is sent: give ef=vanilla, "
         "which keeps it for later steps";
}

std::size_t MinElementsOf(const ParsedOptions& options) {
  const bool by_bytes = options.Given("min_compress_bytes");
  if (by_bytes && options.Given("min_elements")) {
    options.Refuse("min_compress_bytes",
                   "means the same as \"min_elements\"; leave one of them out");
  }
  if (!by_bytes && options.Has("min_elements")) {
    return static_cast<std::size_t>(options.Integer("min_elements"));
  }
  if (!options.Has("min_compress_bytes")) return 0;
  const auto bytes = static_cast<std::size_t>(options.Integer("min_compress_bytes"));
  return (bytes + sizeof(float) - 1) / sizeof(float);
}

void RequireSparseSize(const TensorSpec& tensor, const std::string& compressor) {
  if (tensor.elements() <= UINT32_MAX) return;
  throw InvalidArgument("tensor \"" + tensor.name + "\" has " + std::to_string(tensor.elements()) +
                            " elements, but " + compressor +
                            " compresses at most 2^32 - 1 at a time. Register it in slices.",
                        {.tensor = tensor.name, .ranks = {}, .phase = "submit"});
}

}  // namespace weir
