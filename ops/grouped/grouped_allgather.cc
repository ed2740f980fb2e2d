#include "ops/grouped/grouped_allgather.h"

#include <algorithm>
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

void GroupedAllgather::Bind(std::span<const GatheredArray> arrays,
                            std::span<const std::size_t> bytes) {
  if (bytes.size() != arrays.size() * ranks_) {
    throw InvalidArgument("a grouped all-gather of " + std::to_string(arrays.size()) +
                          " arrays over " + std::to_string(ranks_) + " ranks was given " +
                          std::to_string(bytes.size()) + " lengths; give one per array and rank");
  }
  arrays_.assign(arrays.begin(), arrays.end());
  bytes_.assign(bytes.begin(), bytes.end());
  plan_.clear();
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const auto lengths = BytesOf(i);
    if (arrays[i].in.size() != lengths[self_] || arrays[i].out.size() != Sum(lengths)) {
      throw InvalidArgument("array " + std::to_string(i) + " of a grouped all-gather, " +
                            std::to_string(lengths[self_]) + " bytes into " +
                            std::to_string(Sum(lengths)) + ", was given buffers of " +
                            std::to_string(arrays[i].in.size()) + " and " +
                            std::to_string(arrays[i].out.size()));
    }
    plan_.push_back({.bytes = std::ranges::max(lengths)});
  }
  Plan(plan_);
}

Collective& GroupedAllgather::BindArray(std::size_t array) {
  allgather_.Bind(arrays_[array].in, arrays_[array].out, BytesOf(array));
  return allgather_;
}

Collective& GroupedAllgather::BindFused(std::span<const std::size_t> arrays) {
  fused_bytes_.assign(ranks_, 0);
  for (const std::size_t i : arrays) {
    for (std::size_t r = 0; r < ranks_; ++r) fused_bytes_[r] += BytesOf(i)[r];
  }
  const std::span<std::byte> all = ResizeFused(Sum(fused_bytes_));
  const auto own = all.subspan(Sum(std::span(fused_bytes_).first(self_)), fused_bytes_[self_]);
  std::byte* at = own.data();
  for (const std::size_t i : arrays) {
    Copy(arrays_[i].in, at);
    at += arrays_[i].in.size();
  }
  allgather_.Bind(own, all, fused_bytes_);
  return allgather_;
}

void GroupedAllgather::UnpackFused(std::span<const std::size_t> arrays) {
  places_.clear();
  for (const std::size_t i : arrays) places_.push_back(arrays_[i].out.data());
  std::span<const std::byte> rest = fused();
  for (std::size_t r = 0; r < ranks_; ++r) {
    for (std::size_t k = 0; k < arrays.size(); ++k) {
      const std::size_t bytes = BytesOf(arrays[k])[r];
      Copy(rest.first(bytes), places_[k]);
      places_[k] += bytes;
      rest = rest.subspan(bytes);
    }
  }
}

}  // namespace weir
