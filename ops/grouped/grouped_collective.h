#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ops/collectives/collective.h"
#include "ops/grouped/fused_runs.h"

namespace weir {

/// Exchanges several arrays of every rank as one operation: run by run, each by one
/// collective. The network thread itself copies fused arrays: handing small ones to
/// another thread would cost more.
class GroupedCollective : public Collective {
 public:
  void Start(std::uint32_t operation) final;
  bool Poll() final;
  void Limit(std::size_t bytes) final;
  std::size_t posted_bytes() const final { return run_ == nullptr ? 0 : run_->posted_bytes(); }
  void Cancel() final;

 protected:
  /// Plans what the next Start exchanges; every rank plans the same.
  void Plan(std::span<const FusedRuns::Item> items);

  /// Binds and returns the collective of a run of one array, in place.
  virtual Collective& BindArray(std::size_t array) = 0;
  /// Packs several arrays in fused(), binds and returns the collective of their run.
  virtual Collective& BindFused(std::span<const std::size_t> arrays) = 0;
  /// Takes the results of such a run out of fused().
  virtual void UnpackFused(std::span<const std::size_t> arrays) = 0;

  /// Returns memory of that many bytes, aligned for every type; kept until the next call.
  std::span<std::byte> ResizeFused(std::size_t bytes);
  std::span<const std::byte> fused() const { return fused_; }

 private:
  void StartRun();

  FusedRuns runs_;
  std::size_t current_ = 0;
  Collective* run_ = nullptr;  ///< The current run's; null before the first Start.
  std::uint32_t operation_ = 0;
  std::size_t limit_ = kUnlimited;
  std::vector<std::byte> fused_;
};

}  // namespace weir
