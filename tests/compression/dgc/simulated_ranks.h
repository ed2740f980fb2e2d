#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "compression/compressor.h"

namespace weir {

/// N ranks in one process: one compressor each, payloads merged in rank order.
class SimulatedRanks {
 public:
  using Make = std::function<std::unique_ptr<Compressor>()>;
  SimulatedRanks(std::size_t ranks, std::size_t n, const Make& make);

  /// Takes one step as the engine does; returns the direction, after checking that every rank got
  /// the same bits. In the dense phase the scaled gradients themselves are averaged.
  std::vector<float> Step(const StepContext& context,
                          const std::vector<std::vector<float>>& gradients);

  Compressor& operator[](std::size_t rank) { return *compressors_[rank]; }
  std::size_t ranks() const { return compressors_.size(); }
  /// Each rank's payload of the last compressed step.
  const std::vector<std::vector<std::byte>>& payloads() const { return payloads_; }

 private:
  void Compress(const StepContext& context, const std::vector<std::vector<float>>& gradients);

  std::size_t n_;
  std::vector<std::unique_ptr<Compressor>> compressors_;
  std::vector<std::vector<std::byte>> payloads_;
};

/// Makes one gradient per rank, standard normal.
std::vector<std::vector<float>> NormalGradients(std::size_t ranks, std::size_t n,
                                                std::mt19937& random);

std::vector<std::uint32_t> BitsOf(std::span<const float> values);

/// Copies all state arrays of a compressor.
std::vector<std::vector<float>> CopyState(Compressor& compressor);
/// Writes them into another compressor.
void LoadState(const std::vector<std::vector<float>>& state, Compressor& compressor);
/// Returns the state array of this name.
std::span<float> StateOf(Compressor& compressor, const std::string& name);

}  // namespace weir
