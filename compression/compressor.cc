#include "compression/compressor.h"

#include "common/check.h"
#include "compression/mean_by_merging.h"

namespace weir {

void Compressor::MergeMean(std::span<const std::span<const std::byte>> payloads,
                           std::span<float> mean) const {
  MeanByMerging(payloads, mean,
                [this](const auto& payload, std::span<float> sum) { Merge(payload, sum); });
}

SparseEntries Compressor::Entries(std::span<const std::byte>) const {
  WEIR_CHECK(false);
  return {};
}

void Compressor::Finish(const StepContext&, std::span<float>) {}

std::optional<std::size_t> Compressor::EntriesIn(std::span<const std::byte> /*payload*/) const {
  return std::nullopt;
}

}  // namespace weir
