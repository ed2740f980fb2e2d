#include "plugins/cpp/outer_fragment.h"

#include <algorithm>
#include <functional>
#include <istream>
#include <ostream>
#include <sstream>
#include <utility>

#include "common/log.h"
#include "plugins/cpp/sized_bytes.h"
#include "weir/error.h"

namespace weir {
namespace {

constexpr char kValue[] = "value";
constexpr char kSent[] = "sent";
constexpr char kSince[] = "steps since its round";

/// Returns the array at `at`, and moves on, if it is this one; nothing otherwise.
std::optional<std::span<const float>> Next(const SavedState& state, std::size_t& at,
                                           const std::string& tensor, const char* name,
                                           std::size_t size) {
  if (at == state.arrays.size()) return std::nullopt;
  const SavedArray& found = state.arrays[at];
  if (found.tensor != tensor || found.name != name || found.values.size() != size) {
    return std::nullopt;
  }
  ++at;
  return found.values;
}

}  // namespace

OuterFragment::OuterFragment(Engine& engine, std::vector<Parameter> parameters,
                             const OuterOptions& options, std::string name)
    : parameters_(std::move(parameters)), rate_(options.learning_rate) {
  std::vector<Parameter> outer = parameters_;
  for (const Parameter& parameter : parameters_) {
    anchors_.emplace_back(parameter.value.begin(), parameter.value.end());
    gone_.emplace_back(parameter.value.size());
  }
  for (std::size_t i = 0; i < outer.size(); ++i) {
    outer[i].value = anchors_[i];
    outer[i].gradient = gone_[i];
    outer[i].parameter_group = 0;
  }
  optimizer_.emplace(engine, std::move(outer),
                     OptimizerOptions{.momentum = options.momentum,
                                      .nesterov = options.momentum > 0,
                                      .compression = options.compression,
                                      .name = std::move(name)});
  FollowAnchors();
}

OuterFragment::~OuterFragment() {
  try {
    Agree();
  } catch (const Error& error) {
    LogDebug("a round was not finished: {}", error.what());
  }
}

void OuterFragment::Begin(std::int64_t steps) {
  begun_at_ = steps;
  optimizer_->BeginStep(rate_);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const std::span<const float> value = parameters_[i].value;
    snapshots_.emplace_back(value.begin(), value.end());
    std::ranges::transform(anchors_[i], value, gone_[i].begin(), std::minus());
    optimizer_->GradientReady(i);
  }
}

void OuterFragment::Agree() {
  if (!is_under_way() || is_agreed_) return;
  report_ = optimizer_->Step();
  reported_at_ = begun_at_;
  is_agreed_ = true;
}

void OuterFragment::Finish() {
  Agree();
  for (std::size_t i = 0; i < snapshots_.size(); ++i) {
    const std::span<float> value = parameters_[i].value;
    for (std::size_t k = 0; k < value.size(); ++k) {
      // What has not moved gets the same bits on all ranks.
      value[k] = value[k] == snapshots_[i][k] ? anchors_[i][k]
                                              : value[k] + (anchors_[i][k] - snapshots_[i][k]);
    }
  }
  EndRound();
}

void OuterFragment::EndRound() {
  snapshots_.clear();
  is_agreed_ = false;
}

void OuterFragment::FollowAnchors() {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    std::ranges::copy(anchors_[i], parameters_[i].value.begin());
  }
}

void OuterFragment::Collect(SavedState& state) {
  Agree();
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Parameter& parameter = parameters_[i];
    state.arrays.push_back(
        {parameter.name, kValue, {parameter.value.begin(), parameter.value.end()}});
    if (is_under_way()) state.arrays.push_back({parameter.name, kSent, snapshots_[i]});
  }
  state.arrays.push_back(
      {parameters_.front().name, kSince, {static_cast<float>(state.step - begun_at_)}});
}

void OuterFragment::Save(std::ostream& out) const {
  std::ostringstream saved;
  optimizer_->Save(saved);
  const std::string bytes = saved.str();
  WriteSized(std::as_bytes(std::span(bytes)), out);
}

void OuterFragment::Check(const SavedState& own, std::size_t& array) const {
  for (const Parameter& parameter : parameters_) {
    if (!Next(own, array, parameter.name, kValue, parameter.value.size())) {
      throw InvalidArgument("the saved state has other parameters or fragments: '" +
                            parameter.name + "' is not where it should be, or has another size");
    }
    Next(own, array, parameter.name, kSent, parameter.value.size());
  }
  Next(own, array, parameters_.front().name, kSince, 1);
}

void OuterFragment::Load(const std::vector<std::string>& files, const SavedState* own,
                         std::size_t& array) {
  Agree();
  std::vector<std::istringstream> streams(files.begin(), files.end());
  std::vector<std::istream*> former_ranks;
  for (std::istringstream& stream : streams) former_ranks.push_back(&stream);
  optimizer_->Load(former_ranks);
  EndRound();
  if (own == nullptr) {
    FollowAnchors();
  } else {
    TakeOwn(*own, array);
  }
}

void OuterFragment::TellThatLoadFailed() {
  try {
    Agree();
    optimizer_->Load({});
  } catch (const Error& error) {
    LogDebug("a state was not loaded: {}", error.what());
  }
}

void OuterFragment::TakeOwn(const SavedState& own, std::size_t& array) {
  for (const Parameter& parameter : parameters_) {
    const std::size_t size = parameter.value.size();
    std::ranges::copy(*Next(own, array, parameter.name, kValue, size), parameter.value.begin());
    if (const auto sent = Next(own, array, parameter.name, kSent, size)) {
      snapshots_.emplace_back(sent->begin(), sent->end());
    }
  }
  const auto since = Next(own, array, parameters_.front().name, kSince, 1);
  begun_at_ = since ? own.step - static_cast<std::int64_t>(since->front()) : own.step;
  is_agreed_ = is_under_way();
}

}  // namespace weir
