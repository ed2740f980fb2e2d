#pragma once

#include <functional>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "tests/plugins/model.h"
#include "weir/optimizer.h"

namespace weir {

/// Returns one rank's saved state, in memory.
inline std::string SaveOf(const DistributedOptimizer& optimizer) {
  std::ostringstream out;
  optimizer.Save(out);
  return out.str();
}

inline void LoadFrom(DistributedOptimizer& optimizer, std::span<const std::string> files) {
  std::vector<std::istringstream> streams(files.begin(), files.end());
  std::vector<std::istream*> former_ranks;
  for (std::istringstream& stream : streams) former_ranks.push_back(&stream);
  optimizer.Load(former_ranks);
}

/// State of a training, by rank.
struct Checkpoint {
  std::vector<std::string> files;
  std::vector<std::vector<float>> values;
};

using MakeOptions = std::function<OptimizerOptions()>;

/// Trains steps [from, to) on `ranks` ranks, from a checkpoint if one is given. With the same
/// number of ranks every rank loads its own file, otherwise all of them.
inline Checkpoint Train(int ranks, const MakeOptions& options, int from, int to,
                        const Checkpoint* start = nullptr) {
  Checkpoint end;
  end.files.resize(static_cast<std::size_t>(ranks));
  end.values.resize(static_cast<std::size_t>(ranks));
  RunLocal(ranks, [&](Engine& engine) {
    const auto rank = static_cast<std::size_t>(engine.rank());
    Model model(start == nullptr ? 1 : 77);  // A loaded model does not depend on its start.
    DistributedOptimizer optimizer(engine, model.Parameters(), options());
    if (start != nullptr) {
      const std::span<const std::string> files = start->files;
      LoadFrom(optimizer, files.size() == end.files.size() ? files.subspan(rank, 1) : files);
    }
    for (int step = from; step < to; ++step) {
      TakeStep(optimizer, model, step, engine.rank());
    }
    end.files[rank] = SaveOf(optimizer);
    end.values[rank] = model.Values();
  });
  return end;
}

}  // namespace weir
