// A rank that trains while faults are made in it, and writes what it sees to LOG.N, N being the
// number of its process: a line for each step, each error and each epoch, with the time.
//
// usage: training_rank LOG STEPS COMMIT_EVERY COMPRESSION [FAULTS [SEED [STEP_MS]]]     (faults.h)
//
// A step takes STEP_MS at least, as if an accelerator computed it.

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <limits>
#include <sstream>
#include <string>
#include <thread>

#include "compression/options/options.h"
#include "compression/state/state.h"
#include "tests/faults/programs/damage.h"
#include "tests/faults/programs/faults.h"
#include "tests/faults/programs/task.h"
#include "weir/elastic.h"

namespace weir::faults {
namespace {

/// Lines of a file, each written at once: what was written is there after any death.
class Log {
 public:
  explicit Log(const std::string& path)
      : file_(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {}

  template <class... Values>
  void operator()(fmt::format_string<Values...> text, Values&&... values) const {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    const std::string line =
        fmt::format("{} {}\n", std::chrono::duration_cast<std::chrono::milliseconds>(now).count(),
                    fmt::format(text, std::forward<Values>(values)...));
    [[maybe_unused]] const ssize_t written = write(file_, line.data(), line.size());
  }

 private:
  int file_;
};

/// Hash of what this rank's compressors have kept, wherever the rank sits.
std::uint64_t Unsent(const DistributedOptimizer& optimizer) {
  std::ostringstream out;
  optimizer.Save(out);
  const std::string bytes = std::move(out).str();
  std::uint64_t own = 0;
  std::memcpy(&own, bytes.data(), sizeof own);
  const std::span<const char> group = std::span(bytes).subspan(sizeof own + own);
  std::uint64_t hash = kHashOfNothing;
  for (const SavedArray& array : Deserialize(std::as_bytes(group)).arrays) {
    hash = HashOf(array.values, hash);
  }
  return hash;
}

struct Plan {
  std::int64_t steps = 0;
  std::int64_t commit_every = 1;
  std::string compression;
  std::chrono::milliseconds shortest_step{0};
};

/// Ranks disagree about an operation: it fails on all of them, and they go on.
void Disagree(Engine& engine, bool differs, const Log& log) {
  float value = 1.0f;
  const TensorView view = ViewOf(std::span(&value, 1));
  try {
    engine.Wait(engine.Allreduce("disagree", view, view,
                                 {.op = differs ? ReduceOp::kMax : ReduceOp::kSum}));
  } catch (const Mismatch& error) {
    log("mismatch {}", error.what());
  }
}

void TakeStep(DistributedOptimizer& optimizer, Task& task, Faults& faults, int rank) {
  optimizer.BeginStep(0.02f);
  task.Backward(optimizer.next_step(), rank);
  if (faults.Takes("overflow", "submit")) {
    task.FillGradients(std::numeric_limits<float>::infinity());
  }
  if (faults.Takes("damage", "submit")) DamageNextFrame(faults.seed());
  optimizer.GradientReady(2);
  faults.At("submit");
  optimizer.GradientReady(1);
  optimizer.GradientReady(0);
  faults.At("wait");
}

void Train(Elastic& elastic, Engine& engine, Task& task, const Plan& plan, Faults& faults,
           const Log& log, bool disagree) {
  log("epoch {} rank {} of {}", engine.epoch(), engine.rank(), engine.size());
  DistributedOptimizer optimizer(
      engine, task.Parameters(),
      {.momentum = 0.9f, .compression = CompressionFromText(plan.compression)});
  faults.At("sync");
  elastic.Sync(optimizer);
  log("synced {} unsent {:016x} hash {:016x}", optimizer.next_step(), Unsent(optimizer),
      task.Hash());
  while (optimizer.next_step() < plan.steps) {
    const std::int64_t step = optimizer.next_step();
    faults.BeginStep(step);
    std::this_thread::sleep_for(plan.shortest_step);
    if (disagree && step == plan.steps / 2) {
      Disagree(engine, engine.rank() == engine.size() - 1, log);
    }
    TakeStep(optimizer, task, faults, engine.rank());
    const StepReport report = optimizer.Step();
    faults.At("applied");
    log("step {} hash {:016x} loss {:.5f}{}", step, task.Hash(), task.Loss(),
        report.skipped ? " skipped" : "");
    if (optimizer.next_step() % plan.commit_every == 0) {
      log("committed {} unsent {:016x}", optimizer.next_step(), Unsent(optimizer));
      faults.At("commit");
      elastic.Commit(optimizer);
    }
  }
  log("done loss {:.5f}", task.Loss());
}

int Main(int argc, char** argv) {
  if (argc < 5) return 2;
  const char* place = std::getenv("WEIR_LAUNCHER_RANK");
  const int process = place == nullptr ? 0 : std::stoi(place);
  const Log log(fmt::format("{}.{}", argv[1], process));
  const Plan plan{.steps = std::stoll(argv[2]),
                  .commit_every = std::stoll(argv[3]),
                  .compression = argv[4],
                  .shortest_step = std::chrono::milliseconds(argc > 7 ? std::stoi(argv[7]) : 0)};
  const std::string text = argc > 5 ? argv[5] : "";
  const bool disagree = text == "disagree";
  Faults faults(disagree ? "" : text, process, argc > 6 ? std::stoull(argv[6]) : 0);
  Current() = &faults;
  log("process {} begins", getpid());
  Task task;
  try {
    Elastic elastic;
    elastic.Run([&](Engine& engine) {
      try {
        Train(elastic, engine, task, plan, faults, log, disagree);
      } catch (const HostsUpdated&) {
        log("hosts updated");
        throw;
      } catch (const PeerLost& error) {
        log("lost {}", error.what());
        throw;
      } catch (const Error& error) {
        log("error {}", error.what());
        throw;
      }
    });
  } catch (const Error& error) {
    log("failed {}", error.what());
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  log("left");
  return 0;
}

}  // namespace
}  // namespace weir::faults

int main(int argc, char** argv) { return weir::faults::Main(argc, argv); }
