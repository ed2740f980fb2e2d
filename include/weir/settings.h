#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

/// Everything that can be tuned from outside, parsed once into one typed struct. Algorithms get
/// values. Beside it, only the joining of a job reads the environment: what the launcher set there.
namespace weir {

enum class LogLevel { kTrace, kDebug, kInfo, kWarning, kError, kFatal };

/// How the stages of a bucket are run (docs/explanation/buckets.md).
enum class PipelineMode {
  kSerial,  ///< In the thread that completed the bucket or its exchange; for comparison.
  kThread,  ///< Compression and merging on worker threads, next to the exchange.
};

/// What carries tensors that lie on GPUs from rank to rank.
enum class GpuTransport {
  kAuto,       ///< NCCL where all ranks have it and each a GPU of its own, otherwise as kMpiStaged.
  kNccl,       ///< What NCCL does not carry because of the ranks' libraries or GPUs is an error.
  kMpiStaged,  ///< Copies in the host's memory, over MPI.
};

/// The settings of one rank. A program may also fill them by hand; `Describe` then says so.
/// docs/reference/settings.md lists the variable, the allowed values and the meaning of each
/// member. A plain value: not thread-safe to change, safe to read from many threads.
struct Settings {
  // Exchange.
  std::size_t fusion_threshold_bytes = std::size_t{128} << 20;  ///< 0: nothing is fused.
  double cycle_time_ms = 1.0;  ///< Longest pause between two rounds that make nothing ready.
  int cache_capacity = 1024;   ///< Names with a small id for the fast path; 0 turns it off.
  PipelineMode pipeline = PipelineMode::kThread;
  int worker_threads = 0;      ///< For compression, per rank; 0: cores of the host / ranks on it.
  bool deterministic = false;  ///< Dense sums in rank order: equal bits on every transport.
  bool hierarchical_allreduce = false;  ///< Within hosts, then across (ops/hierarchical_allreduce).
  bool hierarchical_allgather = false;
  std::map<std::string, std::string> compression;  ///< Default compressor options; empty: none.
  /// Of the job's processes the last ones so many are summation servers for route=push_pull, which
  /// run weir-server in place of the program and count as no ranks (weirrun --servers).
  int servers = 0;
  std::string gpu_library;  ///< Path of libweir_cuda.so; empty: the one beside the engine.
  GpuTransport gpu_transport = GpuTransport::kAuto;
  std::string nccl_library;  ///< Path of libnccl.so.2; empty: the one that is loaded, or found.

  // Deadlines, in seconds.
  bool stall_check = true;
  double stall_warning_seconds = 60;
  double stall_shutdown_seconds = 1800;  ///< 0: a stall never ends the job.
  double timeout_seconds = 3600;         ///< Default deadline of a wait.
  double start_timeout_seconds = 30;     ///< For all ranks to have started.

  // What a person sees.
  std::string timeline_filename;  ///< Empty: no timeline.
  bool timeline_mark_cycles = false;
  std::string record_filename;                      ///< Empty: no run log.
  bool summary = true;                              ///< Of jobs of weirrun, in the end.
  std::string flight_filename = "weir.weirflight";  ///< Of jobs of weirrun; "none": none.
  LogLevel log_level = LogLevel::kWarning;
  bool log_timestamps = true;
  int metrics_port = 0;  ///< Port of local rank 0, the others count up from it; 0: no endpoint.
  std::string metrics_address = "127.0.0.1";
  std::string metrics_token;        ///< Bearer token that readers must send; empty: none.
  std::string metrics_certificate;  ///< A file in PEM: the metrics are served over TLS; empty: not.
  std::string metrics_key;          ///< Its key, a file in PEM.
  bool metrics_per_tensor = false;
  int batch_size = 0;  ///< Samples that a rank takes in a step, for samples a second; 0: not known.

  bool strict = false;  ///< What would be ignored, or done otherwise than asked, is an error.

  /// Reads `WEIR_*` from the process's environment, and for each one that is not set its
  /// `HOROVOD_*` spelling. An empty variable counts as not set. Throws InvalidArgument that names
  /// the variable, its value and what is allowed; when `strict`, also for what `warnings` holds.
  static Settings FromEnvironment();
  /// The same from a given environment, for tests and launchers.
  static Settings FromEnvironment(const std::map<std::string, std::string>& environment);

  /// Throws InvalidArgument for a value that a program filled in and the variable would not allow,
  /// and as FromEnvironment does when `strict`; every engine calls it.
  void Check() const;

  /// A setting as it is now. A token is not shown.
  struct Entry {
    std::string variable;  ///< "WEIR_CYCLE_TIME"
    std::string value;
    std::string source;  ///< "default", "set by the program", or the variable or weirrun's option.
  };
  /// All settings, in the order of the reference.
  std::vector<Entry> Entries() const;
  /// One line for each setting: its variable, its value, and where the value came from. A token is
  /// not printed.
  std::string Describe() const;

  /// What FromEnvironment found odd but not wrong, as whole sentences: unknown `WEIR_*` and
  /// `HOROVOD_*` variables with the nearest valid name, a stall that never ends the job.
  /// `Log::Configure` writes them.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  /// Which variable gave a setting, and the value it gave, to notice what a program changed later.
  struct Source {
    std::string variable;
    std::string value;
  };
  void ThrowIfStrict() const;

  std::map<std::string, Source> sources_;  // By WEIR_ name.
  std::vector<std::string> warnings_;
};

/// The compressor options that a text stands for, in WEIR_COMPRESSION and on command lines: a
/// compressor's name, or key=value pairs with commas between them, a list of numbers in brackets:
/// "compressor=dgc,sparsity=[0.75,0.999]". Throws InvalidArgument for anything else, and for a key
/// that comes twice. What keys and values mean is looked at when they are used.
std::map<std::string, std::string> CompressionFromText(const std::string& text);

}  // namespace weir
