#include "common/settings/settings_table.h"

#include <array>
#include <string_view>
#include <vector>

namespace weir {
namespace {

constexpr double kUnlimited = 1e9;
constexpr double kMaxBytes = 1ULL << 40;

const std::string kBoolean = "true, 1, yes, on or false, 0, no, off";
const std::string kSeconds = "seconds, at least 0.001";
const std::string kSecondsOrNever = "seconds; 0 for never";

std::vector<SettingRow> MakeTable() {
  using S = Settings;
  return {
      {.name = "FUSION_THRESHOLD",
       .alias = "FUSION_THRESHOLD",
       .member = &S::fusion_threshold_bytes,
       .allowed = "bytes, 0 to 1099511627776",
       .help = "Largest bucket that small tensors are packed into; 0 packs none.",
       .max = kMaxBytes},
      {.name = "SCHEDULING_CREDIT",
       .member = &S::scheduling_credit_bytes,
       .allowed = "bytes, 0 to 1099511627776",
       .help = "Bytes posted to send behind which no later dense bucket posts more, so that large "
               "buckets end one after the other; less than a chunk (1 MiB on a fast network): each "
               "waits for the one before it.",
       .max = kMaxBytes},
      {.name = "CYCLE_TIME",
       .alias = "CYCLE_TIME",
       .member = &S::cycle_time_ms,
       .allowed = "milliseconds, 0.001 to 10000",
       .help = "Longest pause between two negotiation rounds that make nothing ready.",
       .min = 0.001,
       .max = 10000},
      {.name = "CACHE_CAPACITY",
       .alias = "CACHE_CAPACITY",
       .member = &S::cache_capacity,
       .allowed = "a whole number, 0 to 1048576",
       .help = "Number of single operations that are negotiated with one bit, and keep their "
               "memory, until they are long unused; 0 turns that off.",
       .max = 1 << 20},
      {.name = "PIPELINE",
       .alias = "",
       .member = &S::pipeline,
       .allowed = "serial, thread or process",
       .help = "Runs compression on threads of its own, beside the exchange (thread), in a process "
               "of its own (process), or in whatever thread moves the bucket on (serial)."},
      {.name = "WORKER_THREADS",
       .alias = "",
       .member = &S::worker_threads,
       .allowed = "a whole number, 0 to 1024",
       .help = "Threads of a rank for compression; 0: the cores of the host divided by its ranks.",
       .max = 1024},
      {.name = "DETERMINISTIC",
       .alias = "",
       .member = &S::deterministic,
       .allowed = kBoolean,
       .help = "Adds dense arrays in rank order, so that every transport gives the same bits."},
      {.name = "HIERARCHICAL_ALLREDUCE",
       .alias = "HIERARCHICAL_ALLREDUCE",
       .member = &S::hierarchical_allreduce,
       .allowed = kBoolean,
       .help = "Reduces large arrays on each host first, then across hosts, if all hosts have the "
               "same number of ranks. The same on all ranks."},
      {.name = "HIERARCHICAL_ALLGATHER",
       .alias = "HIERARCHICAL_ALLGATHER",
       .member = &S::hierarchical_allgather,
       .allowed = kBoolean,
       .help =
           "Sends the data of an all-gather to each other host once, if all hosts have the same "
           "number of ranks. Compressed gradients are gathered flat. The same on all ranks."},
      {.name = "COMPRESSION",
       .alias = "",
       .member = &S::compression,
       .allowed = "a name, or key=value,key=value, each key once; a list of numbers in brackets",
       .help = "Compressor options of optimizers that have none of their own (`Compression.none` "
               "in Python)."},
      {.name = "PLAN_FILENAME",
       .alias = "",
       .member = &S::plan_filename,
       .allowed = "a file name",
       .help = "File of what rank 0 plans for compression=auto: the forms of each bucket, and the "
               "step from which they hold. Plans that it has are followed to the letter; those of "
               "other optimizers are written down."},
      {.name = "AUTOTUNE",
       .alias = "AUTOTUNE",
       .member = &S::autotune,
       .allowed = kBoolean,
       .help = "Finds by measurement, for every optimizer whose options leave it open, whether "
               "compressed entries are gathered or divided among the ranks: it never changes what "
               "is trained. compression=auto does so anyway. The same on all ranks."},
      {.name = "AUTOTUNE_LOG",
       .alias = "AUTOTUNE_LOG",
       .member = &S::autotune_log_filename,
       .allowed = "a file name",
       .help = "With `WEIR_AUTOTUNE`: rank 0 writes a line of Horovod's columns to it for each "
               "plan that was tried, and which one it was. The score is bytes of fp32 gradients "
               "in a microsecond."},
      {.name = "AUTOTUNE_WARMUP_SAMPLES",
       .alias = "AUTOTUNE_WARMUP_SAMPLES",
       .member = &S::autotune_warmup_samples,
       .allowed = "a whole number, 0 to 1000000",
       .help = "With `WEIR_AUTOTUNE`: samples that do not count, before the first search.",
       .max = 1000000},
      {.name = "AUTOTUNE_STEPS_PER_SAMPLE",
       .alias = "AUTOTUNE_STEPS_PER_SAMPLE",
       .member = &S::autotune_steps_per_sample,
       .allowed = "a whole number, 1 to 1000000",
       .help = "With `WEIR_AUTOTUNE`: steps in which each plan is tried; the best ones are tried "
               "longer.",
       .min = 1,
       .max = 1000000},
      {.name = "AUTOTUNE_BAYES_OPT_MAX_SAMPLES",
       .alias = "AUTOTUNE_BAYES_OPT_MAX_SAMPLES",
       .member = &S::autotune_most_samples,
       .allowed = "a whole number, 1 to 1000000",
       .help = "With `WEIR_AUTOTUNE`: plans that a search tries at most.",
       .min = 1,
       .max = 1000000},
      {.name = "SERVERS",
       .alias = "",
       .member = &S::servers,
       .allowed = "a whole number, 0 to 16384",
       .help = "Number of the job's processes, the last ones, that are summation servers for "
               "route=push_pull; weirrun's `--servers` starts them and sets this.",
       .max = 16384},
      {.name = "TRANSPORT",
       .alias = "",
       .member = &S::transport,
       .allowed = "auto, mpi or ucx",
       .help =
           "Network between the ranks. auto is MPI where weirrun or another launcher of MPI has "
           "started them, and UCX under torchrun and srun. The same on all ranks."},
      {.name = "UCX_LIBRARY",
       .alias = "",
       .member = &S::ucx_library,
       .allowed = "a file name",
       .help = "The libucp.so.0; by default the one that MPICH has loaded, or that the system "
               "finds."},
      {.name = "RENDEZVOUS",
       .alias = "",
       .member = &S::rendezvous,
       .allowed = "host:port",
       .help = "Where rank 0 listens for the other ranks in a job that weirrun has not started; by "
               "default made from the launcher's variables. The same on all ranks."},
      {.name = "TOKEN",
       .alias = "",
       .member = &S::token,
       .allowed = "text",
       .help = "What only the ranks of that job know, so that no stranger joins it. The same on "
               "all ranks.",
       .secret = true},
      {.name = "TOKEN_FILE",
       .alias = "",
       .member = &S::token_file,
       .allowed = "a file name",
       .help = "A file that holds the token, and that nobody else may read; by default .weir/token "
               "in the user's home, which is made when it is missing."},
      {.name = "GPU_LIBRARY",
       .alias = "",
       .member = &S::gpu_library,
       .allowed = "a file name",
       .help = "The libweir_cuda.so for tensors on GPUs; by default the one beside the engine's "
               "own library."},
      {.name = "GPU_TRANSPORT",
       .alias = "",
       .member = &S::gpu_transport,
       .allowed = "auto, nccl or mpi-staged",
       .help = "Transport of tensors on GPUs: auto is NCCL if every rank has it and a GPU of its "
               "own, otherwise copies in the host's memory (mpi-staged). With nccl, it is an error "
               "if all ranks have their tensors on GPUs but one lacks NCCL or a GPU of its own."},
      {.name = "NCCL_LIBRARY",
       .alias = "",
       .member = &S::nccl_library,
       .allowed = "a file name",
       .help = "The libnccl.so.2; by default the one that a framework has loaded, or that the "
               "system finds."},
      {.name = "STALL_CHECK",
       .alias = "STALL_CHECK_DISABLE",
       .member = &S::stall_check,
       .allowed = kBoolean,
       .help = "Reports tensors that some ranks submitted and others did not.",
       .inverted_alias = true},
      {.name = "STALL_CHECK_TIME_SECONDS",
       .alias = "STALL_CHECK_TIME_SECONDS",
       .member = &S::stall_warning_seconds,
       .allowed = kSeconds,
       .help =
           "Time until a stall is first reported; half of WEIR_TIMEOUT_SECONDS if that is shorter.",
       .min = 0.001,
       .max = kUnlimited},
      {.name = "STALL_SHUTDOWN_TIME_SECONDS",
       .alias = "STALL_SHUTDOWN_TIME_SECONDS",
       .member = &S::stall_shutdown_seconds,
       .allowed = kSecondsOrNever,
       .help = "Time until a stall ends the job.",
       .max = kUnlimited},
      {.name = "TIMEOUT_SECONDS",
       .alias = "",
       .member = &S::timeout_seconds,
       .allowed = kSeconds,
       .help = "Deadline of a wait that has none of its own.",
       .min = 0.001,
       .max = kUnlimited},
      {.name = "START_TIMEOUT",
       .alias = "START_TIMEOUT",
       .member = &S::start_timeout_seconds,
       .allowed = kSeconds,
       .help = "Time that all ranks may take to start, and then to join once the first one has.",
       .min = 0.001,
       .max = kUnlimited},
      {.name = "HEARTBEAT_TIMEOUT",
       .alias = "",
       .member = &S::heartbeat_timeout_seconds,
       .allowed = kSecondsOrNever,
       .help =
           "Time after which weirrun takes a rank for lost that is alive and says nothing: it is "
           "stopped, or frozen.",
       .max = kUnlimited},
      {.name = "TIMELINE",
       .alias = "TIMELINE",
       .member = &S::timeline_filename,
       .allowed = "a file name",
       .help = "Writes a Chrome trace of every rank (docs/reference/monitoring.md). `DYNAMIC`, "
               "which Horovod asks of programs that start a trace themselves, has no effect.",
       .nothing = "DYNAMIC"},
      {.name = "TIMELINE_MARK_CYCLES",
       .alias = "TIMELINE_MARK_CYCLES",
       .member = &S::timeline_mark_cycles,
       .allowed = kBoolean,
       .help = "Marks the beginning of every negotiation round in the timeline."},
      {.name = "RECORD",
       .alias = "",
       .member = &S::record_filename,
       .allowed = "a file name",
       .help = "Writes a run log of every rank (docs/reference/run-log.md)."},
      {.name = "FLIGHT_RECORDING",
       .alias = "",
       .member = &S::flight_filename,
       .allowed = "a file name, or none",
       .help = "File in which a rank of a launched job writes what it was doing when the job fails "
               "or stalls, for weir-flight."},
      {.name = "EXPLAIN",
       .alias = "",
       .member = &S::explain,
       .allowed = kBoolean,
       .help = "Prints how gradients travel, and why, whenever compression=auto has chosen "
               "(docs/explanation/planning.md)."},
      {.name = "SUMMARY",
       .alias = "",
       .member = &S::summary,
       .allowed = kBoolean,
       .help =
           "Makes weirrun, or rank 0 under torchrun and srun, print a summary at the end of the "
           "job: what its steps took and sent "
           "(docs/reference/weirrun.md)."},
      {.name = "LOG_LEVEL",
       .alias = "LOG_LEVEL",
       .member = &S::log_level,
       .allowed = "trace, debug, info, warning, error or fatal",
       .help = "Least important message that is written."},
      {.name = "LOG_TIMESTAMPS",
       .alias = "LOG_HIDE_TIME",
       .member = &S::log_timestamps,
       .allowed = kBoolean,
       .help = "Begins each message with the time.",
       .inverted_alias = true},
      {.name = "METRICS_PORT",
       .alias = "",
       .member = &S::metrics_port,
       .allowed = "a port, 1 to 65535; 0 for none",
       .help = "Port of the metrics: local rank r serves them on this port + r.",
       .max = 65535},
      {.name = "METRICS_ADDRESS",
       .alias = "",
       .member = &S::metrics_address,
       .allowed = "an address of this host; 0.0.0.0 for all",
       .help = "Address on which the metrics are served."},
      {.name = "METRICS_TOKEN",
       .alias = "",
       .member = &S::metrics_token,
       .allowed = "text",
       .help = "Readers of the metrics must send \"Authorization: Bearer <this>\".",
       .secret = true},
      {.name = "METRICS_CERTIFICATE",
       .alias = "",
       .member = &S::metrics_certificate,
       .allowed = "a file name",
       .help = "Certificate with its chain, in PEM; with it, the metrics are served over TLS."},
      {.name = "METRICS_KEY",
       .alias = "",
       .member = &S::metrics_key,
       .allowed = "a file name",
       .help = "Key of that certificate, in PEM, without a passphrase."},
      {.name = "METRICS_PER_TENSOR",
       .alias = "",
       .member = &S::metrics_per_tensor,
       .allowed = kBoolean,
       .help = "Serves series for single gradients too, for the first 1,024."},
      {.name = "BATCH_SIZE",
       .alias = "",
       .member = &S::batch_size,
       .allowed = "a whole number, 0 to 1073741824",
       .help = "Samples that this rank takes in a step, from which the dashboard and weirrun's "
               "summary compute samples a second; 0: unknown.",
       .max = 1 << 30},
      {.name = "VERIFY_EVERY",
       .alias = "",
       .member = &S::verify_every,
       .allowed = "steps, 0 to 1000000000",
       .help =
           "After so many steps each time, a DistributedOptimizer proves that all ranks have the "
           "same parameters; if not, the step fails with an error that names a parameter and "
           "the ranks. 0: never.",
       .max = kUnlimited},
      {.name = "DROPPED_PASSES",
       .alias = "",
       .member = &S::dropped_passes,
       .allowed = kBoolean,
       .help =
           "Lets PyTorch's zero_grad() drop the gradients of backward passes that no step() has "
           "followed. 0 makes that an AssertionError, as with Horovod."},
      {.name = "STRICT",
       .alias = "",
       .member = &S::strict,
       .allowed = kBoolean,
       .help = "Makes it an error if something would be ignored, or done otherwise than asked "
               "(below)."},
  };
}

// "WEIR_TEST_" is for the project's own tests, WEIR_MPIEXEC for weirrun, WEIR_RUN_PROGRAM for
// weir.run; weirrun and its supervisors set the rest.
constexpr std::array<std::string_view, 5> kInternalPrefixes = {
    "WEIR_SUPERVISOR_", "WEIR_LAUNCHER_", "WEIR_TEST_", "WEIR_MPIEXEC", "WEIR_RUN_PROGRAM"};

}  // namespace

std::span<const SettingRow> SettingTable() {
  static const std::vector<SettingRow> table = MakeTable();
  return table;
}

bool IsInternalVariable(const std::string& name) {
  for (const std::string_view prefix : kInternalPrefixes) {
    if (name.starts_with(prefix)) return true;
  }
  return false;
}

}  // namespace weir
