#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

/// Everything that can be tuned from outside, parsed once into one typed struct. Algorithms get
/// values. Only joining a job also reads the environment, for the launcher's own variables.
namespace weir {

enum class LogLevel { kTrace, kDebug, kInfo, kWarning, kError, kFatal };

/// The threads that run the stages of a bucket (docs/explanation/buckets.md).
enum class PipelineMode {
  kSerial,  ///< The thread that completed the bucket or its exchange; for comparison.
  kThread,  ///< Worker threads compress and merge, next to the exchange.
  /// As kThread, but a process of its own compresses; its memory takes about four times as
  /// much (docs/explanation/compression-process.md).
  kProcess,
};

/// The network between the ranks.
enum class TransportKind {
  kAuto,  ///< MPI where weirrun or a launcher of MPI has started the job, UCX under any other.
  kMpi,   ///< MPI.
  kUcx,   ///< UCX, found at run time.
};

/// The way that tensors on GPUs travel from rank to rank.
enum class GpuTransport {
  kAuto,       ///< NCCL where all ranks have it and a GPU each, otherwise as kMpiStaged.
  kNccl,       ///< NCCL; an error if the ranks' libraries or GPUs rule it out.
  kMpiStaged,  ///< Copies in the host's memory, over MPI.
};

/// The settings of one rank. A program may also fill them by hand; `Describe` then says so.
/// docs/reference/settings.md lists the variable, the allowed values and the meaning of each
/// member. A plain value: many threads may read it, none may change it meanwhile.
struct Settings {
  // Exchange.
  std::size_t fusion_threshold_bytes = std::size_t{128} << 20;  ///< 0: nothing is fused.
  /// Bytes posted to send behind which no later bucket posts more; 0: one bucket after the other.
  std::size_t scheduling_credit_bytes = std::size_t{1} << 20;
  double cycle_time_ms = 1.0;  ///< Longest pause between two rounds that make nothing ready.
  int cache_capacity = 1024;   ///< Names with a small id for the fast path; 0 turns it off.
  PipelineMode pipeline = PipelineMode::kThread;
  int worker_threads = 0;      ///< For compression, per rank; 0: cores of the host / ranks on it.
  bool deterministic = false;  ///< Dense sums in rank order: equal bits on every transport.
  bool hierarchical_allreduce = false;  ///< Within hosts, then across.
  bool hierarchical_allgather = false;
  std::map<std::string, std::string> compression;  ///< Default compressor options; empty: none.
  /// File of the plans of optimizers whose gradients may travel in several forms: one that is there
  /// is followed, otherwise it is written. Empty: none.
  std::string plan_filename;
  /// What does not change training is found by measurement for every optimizer: how entries travel.
  bool autotune = false;
  std::string autotune_log_filename;  ///< Table of what was measured so, by rank 0; empty: none.
  int autotune_warmup_samples = 3;    ///< Left out, of as many steps each, before all.
  int autotune_steps_per_sample = 3;  ///< In which a plan is tried at first.
  int autotune_most_samples = 20;     ///< Plans that one search tries.
  /// Number of the job's last processes that are summation servers for route=push_pull: they run
  /// weir-server in place of the program and do not count as ranks (weirrun --servers).
  int servers = 0;
  TransportKind transport = TransportKind::kAuto;  ///< The same on all ranks.
  std::string ucx_library;  ///< Path of libucp.so.0; empty: the loaded one, or one that is found.
  std::string rendezvous;   ///< "host:port" of rank 0 where weirrun has not started it; empty: made
                            ///< from the launcher's variables.
  std::string token;        ///< What all ranks of such a job know; empty: token_file holds it.
  std::string token_file;   ///< Empty: .weir/token in the user's home.
  std::string gpu_library;  ///< Path of libweir_cuda.so; empty: the one beside the engine.
  GpuTransport gpu_transport = GpuTransport::kAuto;
  std::string nccl_library;  ///< Path of libnccl.so.2; empty: the loaded one, or one that is found.

  // Deadlines, in seconds.
  bool stall_check = true;
  double stall_warning_seconds = 60;
  double stall_shutdown_seconds = 1800;   ///< 0: a stall never ends the job.
  double timeout_seconds = 3600;          ///< Default deadline of a wait.
  double start_timeout_seconds = 30;      ///< Deadline for all ranks to start.
  double heartbeat_timeout_seconds = 60;  ///< Of weirrun; 0: a silent rank is not lost.

  // Output for people.
  std::string timeline_filename;  ///< Empty: no timeline.
  bool timeline_mark_cycles = false;
  std::string record_filename;  ///< Empty: no run log.
  bool explain = false;         ///< Who plans says at each change how gradients travel, and why.
  bool summary = true;          ///< Printed at the end of a job of weirrun.
  std::string flight_filename = "weir.weirflight";  ///< Written in jobs of weirrun; "none": none.
  LogLevel log_level = LogLevel::kWarning;
  bool log_timestamps = true;
  int metrics_port = 0;  ///< Port of local rank 0; the others count up from it. 0: no endpoint.
  std::string metrics_address = "127.0.0.1";
  std::string metrics_token;        ///< Bearer token that readers must send; empty: none.
  std::string metrics_certificate;  ///< A PEM file: metrics are served over TLS; empty: no TLS.
  std::string metrics_key;          ///< The certificate's key, a PEM file.
  bool metrics_per_tensor = false;
  int batch_size = 0;  ///< Samples that a rank takes in a step, for samples per second; 0: unknown.

  int verify_every = 0;  ///< Steps between comparisons of the ranks' parameters; 0: never.

  /// A program may drop gradients that are under way; else that is an error. For PyTorch.
  bool dropped_passes = true;
  bool strict = false;  ///< Anything ignored or done differently than asked is an error.

  /// Reads `WEIR_*` from the process's environment, and the `HOROVOD_*` spelling of each variable
  /// that is not set. An empty variable counts as not set. Throws InvalidArgument that names the
  /// variable, its value and what is allowed; when `strict`, also for each of `warnings`.
  static Settings FromEnvironment();
  /// The same from a given environment, for tests and launchers.
  static Settings FromEnvironment(const std::map<std::string, std::string>& environment);

  /// Throws InvalidArgument for a program's value that the variable would not allow; when `strict`,
  /// also as FromEnvironment does. Every engine calls it.
  void Check() const;

  /// A setting's current value. A token is not shown.
  struct Entry {
    std::string variable;  ///< "WEIR_CYCLE_TIME"
    std::string value;
    std::string source;  ///< "default", "set by the program", or the variable or weirrun's option.
  };
  /// All settings, in the order of the reference.
  std::vector<Entry> Entries() const;
  /// Writes one line for each setting: its variable, its value, and the source of the
  /// value. A token is not printed.
  std::string Describe() const;

  /// Whole sentences about what FromEnvironment found odd but not wrong: unknown `WEIR_*`
  /// and `HOROVOD_*` variables with the nearest valid name, a stall that never ends the
  /// job. `Log::Configure` writes them.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  /// The variable that gave a setting, and its value, to notice what a program changed later.
  struct Source {
    std::string variable;
    std::string value;
  };
  void ThrowIfStrict() const;

  std::map<std::string, Source> sources_;  // By WEIR_ name.
  std::vector<std::string> warnings_;
};

/// Parses the compressor options of WEIR_COMPRESSION and of command lines: a compressor's name, or
/// "auto(dense,dgc)", or key=value pairs with commas between them, a list of numbers in brackets:
/// "compressor=dgc,sparsity=[0.75,0.999]". Throws InvalidArgument for any other text and for a
/// repeated key. Keys and values are checked only when they are used.
std::map<std::string, std::string> CompressionFromText(const std::string& text);

}  // namespace weir
