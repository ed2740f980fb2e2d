#include "ops/collectives/allgather.h"

#include <string>

#include "weir/error.h"

namespace weir {

Allgather::Allgather(Transport& transport, const HostGrid* grid)
    : transport_(transport), offsets_(static_cast<std::size_t>(transport.size()) + 1) {
  if (grid != nullptr) {
    hierarchical_.emplace(transport, *grid);
  } else {
    direct_.emplace(transport);
  }
}

void Allgather::Bind(std::span<const std::byte> in, std::span<std::byte> out,
                     std::span<const std::size_t> bytes) {
  const auto ranks = static_cast<std::size_t>(transport_.size());
  const auto self = static_cast<std::size_t>(transport_.rank());
  if (bytes.size() != ranks) {
    throw InvalidArgument("an all-gather over " + std::to_string(ranks) + " ranks was given " +
                          std::to_string(bytes.size()) + " lengths; give one per rank");
  }
  for (std::size_t r = 0; r < ranks; ++r) offsets_[r + 1] = offsets_[r] + bytes[r];
  if (in.size() != bytes[self] || out.size() != offsets_[ranks]) {
    throw InvalidArgument("an all-gather of " + std::to_string(bytes[self]) + " bytes into " +
                          std::to_string(offsets_[ranks]) + " was given buffers of " +
                          std::to_string(in.size()) + " and " + std::to_string(out.size()));
  }
  const GatherTask task{.in = in, .out = out, .offsets = offsets_};
  if (hierarchical_) {
    hierarchical_->Bind(task);
  } else {
    direct_->Bind(task);
  }
}

Collective& Allgather::active() {
  if (hierarchical_) return *hierarchical_;
  return *direct_;
}

}  // namespace weir
