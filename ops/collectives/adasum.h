#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ops/arrays/array.h"
#include "ops/arrays/reduce.h"
#include "ops/collectives/broadcast.h"
#include "ops/collectives/collective.h"
#include "ops/transport/chunk_stream.h"
#include "ops/transport/transport.h"

namespace weir {

/// Combines gradients so that their common part counts once and orthogonal parts add up (Maleki et
/// al., "Scaling Distributed Training with Adaptive Summation", MLSys 2021):
///
///   Adasum(a, b) = (1 - a.b / (2 a.a)) a + (1 - a.b / (2 b.b)) b,
///
/// where a side that is all zeros counts with the factor 1. More than two ranks are combined along
/// a binomial tree, neighbours first: ((0 1) (2 3)) ((4 5) ...), for any number of ranks. All ranks
/// receive the result, so all get the same bits. Each array has its own coefficients.
///
/// fp16, bf16 and fp32 are combined in fp32 and rounded once at the end, fp64 in fp64; inner
/// products are summed in fp64. Each of the ceil(log2 size()) levels carries whole arrays: it is a
/// way to combine, not a fast way to exchange.
class Adasum final : public Collective {
 public:
  explicit Adasum(Transport& transport);

  /// Number of elements, types and factors are the same on all ranks; `in` and `out` of an array
  /// are the same memory or do not overlap. Both stay valid, and `in` unchanged, until the run is
  /// over. Throws as CheckAdasum does.
  void Bind(std::span<const Array> arrays, const Reduction& factors);

  void Start(std::uint32_t operation) override;
  bool Poll() override;
  void Cancel() override;

 private:
  enum class Phase { kChildren, kParent, kResult, kDone };
  /// An array among the values sent, all of one length and type on every rank.
  struct Piece {
    Array array;
    std::size_t offset = 0;  ///< In bytes.
  };
  void Load();
  void Combine();
  void Store();
  bool PollChildren();

  Transport& transport_;
  Reduction factors_;
  std::vector<Piece> pieces_;
  std::vector<std::byte> values_;    ///< This rank's, then its subtree's, then all ranks'.
  std::vector<std::byte> received_;  ///< Values of one child.
  std::vector<int> children_;        ///< The nearest first.
  std::size_t next_child_ = 0;
  int parent_ = -1;
  std::uint32_t operation_ = 0;
  Phase phase_ = Phase::kChildren;
  ChunkStream from_child_;
  ChunkStream to_parent_;
  Broadcast result_;
};

/// Throws InvalidArgument for a type that is not floating point, or a factor that is not finite.
void CheckAdasum(DType dtype, const Reduction& factors);

}  // namespace weir
