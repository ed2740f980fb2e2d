#include "coordinator/routes/factor_route.h"

#include <algorithm>

#include "compression/powersgd/factor_compressor.h"

namespace weir {
namespace {

std::size_t FirstSize(const GradientSlice& slice) {
  const FactorCompressor* factors = slice.factors();
  return factors == nullptr ? slice.elements : factors->first_size();
}

std::size_t SecondSize(const GradientSlice& slice) {
  const FactorCompressor* factors = slice.factors();
  return factors == nullptr ? 0 : factors->second_size();
}

/// Takes the next `count` values off `rest`.
std::span<float> Next(std::span<float>& rest, std::size_t count) {
  const std::span<float> next = rest.first(count);
  rest = rest.subspan(count);
  return next;
}

}  // namespace

FactorRoute::FactorRoute(GradientSlices& gradients, Transport& transport, const HostGrid* grid)
    : Route(gradients), allreduce_(transport, grid) {
  std::size_t first = 0;
  std::size_t second = 0;
  for (const GradientSlice& slice : gradients.all()) {
    first += FirstSize(slice);
    second += SecondSize(slice);
  }
  first_.resize(first);
  second_.resize(second);
}

bool FactorRoute::Suits(const GradientSlices& gradients) {
  return gradients.summable() == DType::kFloat32 &&
         std::ranges::any_of(gradients.all(),
                             [](const GradientSlice& slice) { return slice.factors() != nullptr; });
}

void FactorRoute::Prepare(bool empty) {
  empty_ = empty;
  if (!empty) return;
  std::ranges::fill(first_, 0.0f);
  std::ranges::fill(second_, 0.0f);
}

std::span<const BucketStage> FactorRoute::stages() const {
  using enum BucketStage;
  static constexpr BucketStage kStages[] = {kCompress, kExchange, kRelay, kExchange, kUnpack};
  return kStages;
}

void FactorRoute::Run(BucketStage stage) {
  if (empty_) return;  // Zeros are this rank's second factors, too.
  std::span<float> firsts(first_);
  std::span<float> seconds(second_);
  for (const GradientSlice& slice : gradients().all()) {
    const std::span<float> first = Next(firsts, FirstSize(slice));
    const std::span<float> second = Next(seconds, SecondSize(slice));
    switch (stage) {
      case BucketStage::kCompress:
        Compress(slice, first);
        break;
      case BucketStage::kRelay:
        Relay(slice, first, second);
        break;
      default:
        Unpack(slice, first, second);
    }
  }
}

void FactorRoute::Compress(const GradientSlice& slice, std::span<float> first) {
  FactorCompressor* factors = slice.factors();
  if (factors == nullptr) {
    gradients().Encode(slice, std::as_writable_bytes(first));
    return;
  }
  factors->EncodeFirst(gradients().ContextOf(slice), gradients().Source(slice), first);
  gradients().CountEncoded();
}

/// Turns the mean of the first factors into this rank's second one.
void FactorRoute::Relay(const GradientSlice& slice, std::span<const float> first,
                        std::span<float> second) {
  FactorCompressor* factors = slice.factors();
  if (factors != nullptr) factors->EncodeSecond(gradients().ContextOf(slice), first, second);
}

void FactorRoute::Unpack(const GradientSlice& slice, std::span<const float> first,
                         std::span<const float> second) {
  FactorCompressor* factors = slice.factors();
  const std::span<float> mean = gradients().Target(slice);
  if (factors == nullptr) {
    std::ranges::copy(first, mean.begin());
    gradients().Finish(slice, mean);
    return;
  }
  factors->Decode(gradients().ContextOf(slice), second, mean);
  gradients().Deliver(slice, mean);
}

Collective* FactorRoute::Bind(std::size_t exchange) {
  std::vector<float>& values = exchange == 0 ? first_ : second_;
  return &allreduce_.Bind(values.data(), values.data(), static_cast<std::int64_t>(values.size()),
                          DType::kFloat32, gradients().step().reduction);
}

}  // namespace weir
