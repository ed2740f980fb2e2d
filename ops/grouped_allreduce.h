#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ops/allreduce.h"
#include "ops/array.h"
#include "ops/collective.h"

namespace weir {

/// Combines several arrays of every rank as one operation. Small ones of a type are fused into one
/// array, large ones travel from where they lie, one after the other. The network thread itself
/// copies what is small: handing it to another thread would cost more.
class GroupedAllreduce final : public Collective {
 public:
  /// Larger arrays are not copied.
  static constexpr std::size_t kSmallBytes = std::size_t{64} << 10;
  /// What is fused at most: small enough for the cache between the copies.
  static constexpr std::size_t kFusedBytes = std::size_t{1} << 20;

  /// As for an Allreduce.
  explicit GroupedAllreduce(Transport& transport, const HostGrid* grid = nullptr)
      : allreduce_(transport, grid) {}

  /// The same numbers of elements, types and reduction on all ranks. Throws InvalidArgument for a
  /// reduction that a type does not have.
  void Bind(std::span<const Array> arrays, const Reduction& reduction);

  void Start(std::uint32_t operation) override;
  bool Poll() override;
  void Cancel() override { allreduce_.Cancel(); }

 private:
  /// Arrays of one type that are exchanged at once.
  struct Run {
    std::vector<Array> arrays;
    std::size_t bytes = 0;
  };
  Run& RunFor(const Array& array);
  void StartRun();
  void Unpack(const Run& run);

  Allreduce allreduce_;
  Reduction reduction_;
  std::vector<Run> runs_;
  std::size_t current_ = 0;
  std::uint32_t operation_ = 0;
  std::vector<std::byte> fused_;
};

}  // namespace weir
