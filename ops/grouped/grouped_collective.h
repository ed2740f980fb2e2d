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
  void Cancel() final { each().Cancel(); }

 protected:
  /// The collective that carries every run.
  virtual Collective& each() = 0;

  /// Plans what the next Start exchanges; every rank plans the same.
  void Plan(std::span<const FusedRuns::Item> items);

  /// Binds the collective to one array in place,
  virtual void BindArray(std::size_t array) = 0;
  /// or to several that are packed in fused(),
  virtual void BindFused(std::span<const std::size_t> arrays) = 0;
  /// from which their results are taken.
  virtual void UnpackFused(std::span<const std::size_t> arrays) = 0;

  /// Returns memory of that many bytes, aligned for every type; kept until the next call.
  std::span<std::byte> ResizeFused(std::size_t bytes);
  std::span<const std::byte> fused() const { return fused_; }

 private:
  void StartRun();

  FusedRuns runs_;
  std::size_t current_ = 0;
  std::uint32_t operation_ = 0;
  std::vector<std::byte> fused_;
};

}  // namespace weir
