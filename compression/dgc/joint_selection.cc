#include "compression/dgc/joint_selection.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "common/check.h"
#include "compression/dgc/dgc_math.h"
#include "compression/wire/index_coding.h"
#include "compression/wire/value_coding.h"

namespace weir {
namespace {

constexpr std::uint32_t kAboveAll = std::numeric_limits<std::uint32_t>::max();

}  // namespace

JointSelection::JointSelection(std::vector<JointCompressor*> tensors)
    : tensors_(std::move(tensors)), largest_(tensors_.size()) {
  WEIR_CHECK(!tensors_.empty());
  for (const JointCompressor* tensor : tensors_) elements_ += tensor->form().n;
}

std::size_t JointSelection::EntriesToSend(double density) const {
  std::size_t entries = 0;
  for (const JointCompressor* tensor : tensors_) {
    entries += weir::EntriesToSend(tensor->form().n, density);
  }
  return entries;
}

std::size_t JointSelection::MaxEncodedBytesOfOne(std::size_t n, double density) const {
  // Every other tensor has at least one of the K entries.
  const std::size_t most = EntriesToSend(density) - (tensors_.size() - 1);
  return SparsePayloadBytes(n, std::min(n, most), tensors_.front()->form().type);
}

// The size of indices is a concave function of their number and the tensor's length, of degree 1 in
// both, except for rounding up to bits and bytes. So no division of the entries among the tensors
// takes more than one tensor of that total length, and two bytes for each.
std::size_t JointSelection::MaxEncodedBytes(double density) const {
  const std::size_t count = tensors_.size();
  const std::size_t k = EntriesToSend(density);
  const ValueType type = tensors_.front()->form().type;
  const std::size_t header = SparsePayloadBytes(1, 0, type);
  return count * (header + 2 + ValueBytes(1, type)) + MaxIndexBytes(elements_, k) +
         ValueBytes(k, type);
}

void JointSelection::Begin(double density) {
  k_ = EntriesToSend(density);
  const bool dense = !CandidatesPay(elements_, k_);
  if (dense) tracker_.Forget();
  threshold_ = dense ? std::nullopt : tracker_.Next(k_);
}

void JointSelection::Accumulate(JointCompressor& tensor, const StepContext& context,
                                std::span<const float> gradient) const {
  tensor.Accumulate(context, gradient, std::min(k_, tensor.form().n), threshold_);
}

std::size_t JointSelection::CountCollected() const {
  std::size_t count = 0;
  for (JointCompressor* tensor : tensors_) {
    for (const std::span<const float> source : tensor->step().collected()) count += source.size();
  }
  return count;
}

std::optional<JointSelection::Largest> JointSelection::LargestOf(const cpu::DgcStep& step) {
  std::optional<Largest> largest;
  const auto sources = step.collected();
  for (std::size_t s = 0; s < sources.size(); ++s) {
    if (sources[s].empty()) continue;
    const auto found = std::ranges::max_element(sources[s], {}, MagnitudeKey);
    const Largest here{s, static_cast<std::size_t>(found - sources[s].begin()),
                       MagnitudeKey(*found)};
    if (!largest || here.key > largest->key) largest = here;
  }
  return largest;
}

void JointSelection::CollectEnough() {
  const bool enough = CountCollected() >= k_;
  if (!enough) threshold_.reset();
  for (std::size_t t = 0; t < tensors_.size(); ++t) {
    cpu::DgcStep& step = tensors_[t]->step();
    if (!enough) step.CollectAll();
    std::optional<Largest> largest = LargestOf(step);
    if (!largest) {  // The whole tensor is below the threshold.
      step.CollectAll();
      largest = LargestOf(step);
    }
    largest_[t] = *largest;
  }
}

cpu::RadixSelect::Result JointSelection::SelectRest(std::size_t k) {
  rest_.clear();
  for (std::size_t t = 0; t < tensors_.size(); ++t) {
    const auto sources = tensors_[t]->step().collected();
    for (std::size_t s = 0; s < sources.size(); ++s) {
      const bool has_largest = s == largest_[t].source;
      const std::size_t cut = has_largest ? largest_[t].at : sources[s].size();
      rest_.push_back(sources[s].first(cut));
      if (has_largest) rest_.push_back(sources[s].subspan(cut + 1));
    }
  }
  return select_.Select(rest_, k);
}

void JointSelection::Select() {
  CollectEnough();
  cpu::RadixSelect::Result kth{.key = kAboveAll};
  std::size_t ties = 0;
  if (const std::size_t count = k_ - tensors_.size(); count > 0) {
    kth = SelectRest(count);
    ties = count - kth.above;
    const std::size_t among = CountCollected() - tensors_.size();
    tracker_.Observe(
        {.k = k_,
         .candidates = among,
         .threshold = threshold_.value_or(0.0f),
         .kth = MagnitudeOfKey(kth.key),
         .rank_2k = MagnitudeOfKey(select_.LowerBoundOfRank(std::min(2 * k_, among)))});
  }
  for (std::size_t t = 0; t < tensors_.size(); ++t) {
    cpu::DgcStep& step = tensors_[t]->step();
    const std::uint32_t own = largest_[t].key;
    if (own < kth.key) {
      step.Take(own, 1);  // It is the first of those that equal it.
    } else {
      ties = step.Take(kth.key, ties + (own == kth.key ? 1 : 0));
    }
  }
}

}  // namespace weir
