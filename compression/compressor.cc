#include "compression/compressor.h"

#include <algorithm>

#include "common/check.h"

namespace weir {

std::span<const float> Compressor::Drain(const StepContext&, std::span<const float>, DType) {
  WEIR_CHECK(!"a compressor that does not drain was asked to");
  return {};
}

void Compressor::Mark() {
  const std::vector<StateArray> state = State();
  marked_.resize(state.size());
  for (std::size_t i = 0; i < state.size(); ++i) {
    marked_[i].assign(state[i].values.begin(), state[i].values.end());
  }
}

void Compressor::GoBack() {
  const std::vector<StateArray> state = State();
  WEIR_CHECK(marked_.size() == state.size());
  for (std::size_t i = 0; i < state.size(); ++i) {
    std::ranges::copy(marked_[i], state[i].values.begin());
  }
  Restored();
}

}  // namespace weir
