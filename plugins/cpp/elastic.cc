#include "weir/elastic.h"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "common/supervision/place.h"

namespace weir {
namespace {

constexpr std::int64_t kNothing = -1;

/// State of an optimizer after a step, as Save writes it.
struct Committed {
  std::string bytes;
  std::int64_t step = kNothing;  ///< The next one.
  int rank = 0;                  ///< The place of who saved it.
  int size = 0;
};

/// True for the failure of other ranks, or of the network; false for a mistake, which would come
/// again.
bool IsOfTheJob(const Error& error) {
  return dynamic_cast<const Mismatch*>(&error) == nullptr &&
         dynamic_cast<const InvalidArgument*>(&error) == nullptr;
}

std::vector<std::int64_t> FromAll(Engine& engine, std::int64_t value) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(engine.size()));
  const std::span<const std::int64_t> mine(&value, 1);
  engine.Wait(engine.Allgather(
      "elastic.steps", ViewOf(mine),
      [&all](const Shape&, std::span<const std::int64_t>) -> void* { return all.data(); }));
  return all;
}

/// Replaces `bytes` by those of `root`.
void TakeFrom(Engine& engine, int root, std::string& bytes) {
  auto size = static_cast<std::int64_t>(bytes.size());
  engine.Wait(engine.Broadcast("elastic.size", ViewOf(std::span(&size, 1)), root));
  bytes.resize(static_cast<std::size_t>(size));
  engine.Wait(engine.Broadcast("elastic.state", {bytes.data(), DType::kUInt8, Shape{size}}, root));
}

bool AnySays(Engine& engine, bool value) {
  std::int32_t any = value ? 1 : 0;
  const TensorView view = ViewOf(std::span(&any, 1));
  engine.Wait(engine.Allreduce("elastic.hosts", view, view, {.op = ReduceOp::kMax}));
  return any != 0;
}

}  // namespace

class Elastic::Impl {
 public:
  explicit Impl(Settings settings) : settings_(std::move(settings)) {}

  void Run(const std::function<void(Engine&)>& train) {
    while (!RunEpoch(train)) {
    }
  }

  void Sync(DistributedOptimizer& optimizer) {
    Engine& engine = Running("Sync");
    const std::vector<std::int64_t> steps = FromAll(engine, committed_.step);
    const auto newest = std::ranges::max_element(steps);
    if (*newest != kNothing) {
      Committed state = committed_;
      const bool own = state.step == *newest;
      if (std::ranges::any_of(steps, [&](std::int64_t step) { return step != *newest; })) {
        std::string bytes = state.bytes;
        TakeFrom(engine, static_cast<int>(newest - steps.begin()), bytes);
        if (!own) state.bytes = std::move(bytes);
      }
      std::istringstream stream(std::move(state.bytes));
      if (own && state.rank == engine.rank() && state.size == engine.size()) {
        std::istream* const streams[] = {&stream};
        optimizer.Load(streams);
      } else {
        optimizer.Adopt(stream);
      }
    }
    Keep(optimizer);
    engine.SetReady();
  }

  void Commit(const DistributedOptimizer& optimizer) {
    Engine& engine = Running("Commit");
    Keep(optimizer);
    if (!supervision::InElasticJob() || !AnySays(engine, engine.hosts_updated())) return;
    throw HostsUpdated("ranks come or go: the job goes on once they have been dealt anew");
  }

 private:
  /// Returns false if the ranks are to be dealt anew.
  bool RunEpoch(const std::function<void(Engine&)>& train) {
    const std::unique_ptr<Engine> engine = Join();
    if (!engine) return false;
    engine_ = engine.get();
    const bool over = Train(train);
    engine_ = nullptr;
    return over;
  }

  /// Null if the job has lost a rank meanwhile.
  std::unique_ptr<Engine> Join() const {
    try {
      return Engine::Create(settings_);
    } catch (const Error& error) {
      const bool names_ranks = !error.context().ranks.empty();
      if (!supervision::InElasticJob() || !IsOfTheJob(error) || !names_ranks) throw;
      return nullptr;
    }
  }

  bool Train(const std::function<void(Engine&)>& train) {
    try {
      train(*engine_);
      engine_->Shutdown();
      return true;
    } catch (const HostsUpdated&) {
      engine_->Shutdown();
    } catch (const Error& error) {
      if (!supervision::InElasticJob() || !IsOfTheJob(error)) Fail(error);
    } catch (const std::exception& error) {
      Fail(error);
    }
    return false;
  }

  /// Rethrows what is being handled. The other ranks must not take this one's end for a good one.
  [[noreturn]] void Fail(const std::exception& error) {
    std::exchange(engine_, nullptr)->Abort(std::string("the program ended with ") + error.what());
    throw;
  }

  void Keep(const DistributedOptimizer& optimizer) {
    std::ostringstream out;
    optimizer.Save(out);
    committed_ = {.bytes = std::move(out).str(),
                  .step = optimizer.next_step(),
                  .rank = engine_->rank(),
                  .size = engine_->size()};
  }

  Engine& Running(const std::string& call) const {
    if (engine_ != nullptr) return *engine_;
    throw InvalidArgument("Elastic::" + call + " belongs into the function that Run calls");
  }

  const Settings settings_;
  Engine* engine_ = nullptr;  ///< Null outside Run.
  Committed committed_;
};

Elastic::Elastic(Settings settings) : impl_(std::make_unique<Impl>(std::move(settings))) {}
Elastic::~Elastic() = default;

void Elastic::Run(const std::function<void(Engine& engine)>& train) { impl_->Run(train); }
void Elastic::Sync(DistributedOptimizer& optimizer) { impl_->Sync(optimizer); }
void Elastic::Commit(const DistributedOptimizer& optimizer) { impl_->Commit(optimizer); }

}  // namespace weir
