#include <algorithm>
#include <istream>
#include <ostream>

#include "plugins/cpp/optimizer_impl.h"
#include "plugins/cpp/sized_bytes.h"

namespace weir {
SavedState DistributedOptimizer::Impl::CollectState() const {
  SavedState state{.ranks = engine_.size(), .rank = engine_.rank(), .step = group_->next_step()};
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Parameter& parameter = parameters_[i];
    const std::span<const float> value = look_ahead_.Value(i);  // Also after a failed step.
    state.arrays.push_back({parameter.name, "value", {value.begin(), value.end()}});
    for (const UpdateRule::StateArray& array : rule_->State(i)) {
      state.arrays.push_back(
          {parameter.name, array.name, {array.values.begin(), array.values.end()}});
    }
  }
  return state;
}

void DistributedOptimizer::Impl::RestoreState(const SavedState& state) {
  auto array = state.arrays.begin();
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    std::ranges::copy((array++)->values, parameters_[i].value.begin());
    for (const UpdateRule::StateArray& target : rule_->State(i)) {
      std::ranges::copy((array++)->values, target.values.begin());
    }
  }
}

void DistributedOptimizer::Impl::Save(std::ostream& out) const {
  WriteSized(Serialize(CollectState()), out);
  group_->Save(out);
}

SavedState DistributedOptimizer::Impl::ReadOwn(std::span<std::istream* const> former_ranks) const {
  if (former_ranks.empty()) throw InvalidArgument("Load needs at least one saved optimizer");
  // Values and the rule's state are the same on all ranks: any file has them.
  SavedState state;
  ReadEach(name_, former_ranks, [&state](std::istream& in) { state = Deserialize(ReadSized(in)); });
  const std::string difference = FirstDifference(CollectState(), "this one", state, "the file");
  if (!difference.empty()) {
    throw InvalidArgument(
        "the saved optimizer has other parameters, update rule or compressor than '" + name_ +
        "': " + difference);
  }
  return state;
}

void DistributedOptimizer::Impl::LoadWith(const std::function<void()>& load_group,
                                          std::span<std::istream* const> ranks) {
  SavedState state;
  try {
    state = ReadOwn(ranks);
  } catch (...) {
    const auto error = std::current_exception();
    try {
      group_->Load({});  // Fails, and tells the other ranks.
    } catch (const Error&) {
      std::rethrow_exception(error);
    }
  }
  load_group();
  look_ahead_.PutBack();
  RestoreState(state);
}

void DistributedOptimizer::Impl::Load(std::span<std::istream* const> former_ranks) {
  LoadWith([&] { group_->Load(former_ranks); }, former_ranks);
}

void DistributedOptimizer::Impl::Adopt(std::istream& one_rank) {
  std::istream* const ranks[] = {&one_rank};
  LoadWith([&] { group_->Adopt(one_rank); }, ranks);
}

}  // namespace weir
