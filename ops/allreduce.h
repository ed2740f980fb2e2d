#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ops/collective.h"
#include "ops/pending.h"
#include "ops/reduce.h"
#include "ops/transport.h"
#include "weir/dtype.h"

namespace weir {

/// Combines the same-shaped array of every rank; all ranks get the same bits.
///
/// Values are always combined in rank order, all ranks' pieces at once, so the result depends neither
/// on the transport nor on timing (ops/reduce.h says how each type is rounded). Small arrays are
/// exchanged whole; larger ones by a direct reduce-scatter and all-gather: rank r owns the r-th part,
/// receives everybody's pieces of it, reduces them and returns the result, chunk by chunk with
/// several chunks in flight, so that reducing hides behind sending.
class Allreduce final : public Collective {
 public:
  static constexpr std::size_t kDefaultChunkBytes = std::size_t{1} << 20;

  explicit Allreduce(Transport& transport, std::size_t chunk_bytes = kDefaultChunkBytes);
  ~Allreduce() override;

  /// `in` and `out` hold `elements` elements and are either the same memory or do not overlap.
  /// dtype, elements and reduction are the same on all ranks. Throws InvalidArgument for a reduction
  /// that `dtype` does not have. Allocates only when the scratch has to grow.
  void Bind(const void* in, void* out, std::int64_t elements, DType dtype,
            const Reduction& reduction = {});

  void Start(std::uint32_t operation) override;
  bool Poll() override;
  void Cancel() override;

 private:
  class Algorithm;
  class WholeExchange;
  class Chunked;

  std::unique_ptr<WholeExchange> whole_;
  std::unique_ptr<Chunked> chunked_;
  Algorithm* active_ = nullptr;
};

}  // namespace weir
