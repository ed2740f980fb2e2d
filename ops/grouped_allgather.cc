#include "ops/grouped_allgather.h"

#include <cstring>
#include <numeric>
#include <string>

#include "weir/error.h"

namespace weir {
namespace {

std::size_t Sum(std::span<const std::size_t> bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), std::size_t{0});
}

void Copy(std::span<const std::byte> from, std::byte* to) {
  if (!from.empty()) std::memcpy(to, from.data(), from.size());
}

}  // namespace

void GroupedAllgather::Bind(std::span<const Item> items, std::span<const std::size_t> bytes) {
  if (bytes.size() != items.size() * ranks_) {
    throw InvalidArgument("a grouped all-gather of " + std::to_string(items.size()) +
                          " items over " + std::to_string(ranks_) + " ranks was given " +
                          std::to_string(bytes.size()) + " lengths; give one per item and rank");
  }
  items_.assign(items.begin(), items.end());
  bytes_.assign(bytes.begin(), bytes.end());
  sizes_.clear();
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto lengths = BytesOf(i);
    if (items[i].in.size() != lengths[self_] || items[i].out.size() != Sum(lengths)) {
      throw InvalidArgument("item " + std::to_string(i) + " of a grouped all-gather, " +
                            std::to_string(lengths[self_]) + " bytes into " +
                            std::to_string(Sum(lengths)) + ", was given buffers of " +
                            std::to_string(items[i].in.size()) + " and " +
                            std::to_string(items[i].out.size()));
    }
    sizes_.push_back({.bytes = items[i].out.size()});
  }
  Plan(sizes_);
}

void GroupedAllgather::BindArray(std::size_t item) {
  allgather_.Bind(items_[item].in, items_[item].out, BytesOf(item));
}

void GroupedAllgather::BindFused(std::span<const std::size_t> items) {
  fused_bytes_.assign(ranks_, 0);
  for (const std::size_t i : items) {
    for (std::size_t r = 0; r < ranks_; ++r) fused_bytes_[r] += BytesOf(i)[r];
  }
  const std::span<std::byte> all = ResizeFused(Sum(fused_bytes_));
  const auto own = all.subspan(Sum(std::span(fused_bytes_).first(self_)), fused_bytes_[self_]);
  std::byte* at = own.data();
  for (const std::size_t i : items) {
    Copy(items_[i].in, at);
    at += items_[i].in.size();
  }
  allgather_.Bind(own, all, fused_bytes_);
}

void GroupedAllgather::UnpackFused(std::span<const std::size_t> items) {
  places_.clear();
  for (const std::size_t i : items) places_.push_back(items_[i].out.data());
  std::span<const std::byte> rest = fused();
  for (std::size_t r = 0; r < ranks_; ++r) {
    for (std::size_t k = 0; k < items.size(); ++k) {
      const std::size_t bytes = BytesOf(items[k])[r];
      Copy(rest.first(bytes), places_[k]);
      places_[k] += bytes;
      rest = rest.subspan(bytes);
    }
  }
}

}  // namespace weir
