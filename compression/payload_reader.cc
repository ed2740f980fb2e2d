#include "compression/payload_reader.h"

#include "common/check.h"
#include "compression/mean_by_merging.h"

namespace weir {

void PayloadReader::MergeMean(std::span<const std::span<const std::byte>> payloads,
                              std::span<float> mean) const {
  MeanByMerging(payloads, mean,
                [this](const auto& payload, std::span<float> sum) { Merge(payload, sum); });
}

SparseEntries PayloadReader::Entries(std::span<const std::byte>) const {
  WEIR_CHECK(false);
  return {};
}

std::optional<std::size_t> PayloadReader::EntriesIn(std::span<const std::byte> /*payload*/) const {
  return std::nullopt;
}

}  // namespace weir
