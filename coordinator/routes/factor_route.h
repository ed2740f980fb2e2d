#pragma once

#include <vector>

#include "coordinator/routes/route.h"
#include "ops/collectives/allreduce.h"

namespace weir {

/// Two all-reduces in a step: the first factors of all matrices, together with the dense gradients,
/// and then the second factors (compression/powersgd/factor_compressor.h).
class FactorRoute final : public Route {
 public:
  FactorRoute(GradientSlices& gradients, Transport& transport, const HostGrid* grid);

  /// True if some of these gradients can be sent as factors, and the others as fp32.
  static bool Suits(const GradientSlices& gradients);

  void Prepare(bool empty) override;
  std::span<const BucketStage> stages() const override;
  void Run(BucketStage stage) override;
  void UseChunksOf(std::size_t bytes) override { allreduce_.set_chunk_bytes(bytes); }
  Collective* Bind(std::size_t exchange) override;
  std::uint64_t wire_bytes() const override {
    return (first_.size() + second_.size()) * sizeof(float);
  }

 private:
  void Compress(const GradientSlice& slice, std::span<float> first);
  void Relay(const GradientSlice& slice, std::span<const float> first, std::span<float> second);
  void Unpack(const GradientSlice& slice, std::span<const float> first,
              std::span<const float> second);

  Allreduce allreduce_;
  bool empty_ = false;
  std::vector<float> first_;
  std::vector<float> second_;
};

}  // namespace weir
