#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "compression/make_compressor.h"
#include "compression/options/registry.h"
#include "compression/powersgd/factor_compressor.h"

namespace weir::test {

using Floats = std::vector<float>;

/// N ranks in one process, with factors averaged in rank order.
class FactorRanks {
 public:
  FactorRanks(std::size_t ranks, const CompressionOptions& options, const Shape& shape)
      : n_(static_cast<std::size_t>(shape.elements())) {
    for (std::size_t r = 0; r < ranks; ++r) {
      compressors_.push_back(MakeCompressor(options, TensorSpec{"w", shape}));
    }
  }

  Compressor& operator[](std::size_t rank) { return *compressors_[rank]; }
  FactorCompressor& factors(std::size_t rank) { return *compressors_[rank]->factors(); }
  std::size_t ranks() const { return compressors_.size(); }

  /// Takes one step as the engine does; returns the update, after checking that every rank got the
  /// same bits. A rank without a gradient has joined: it contributes zeros.
  Floats Step(const StepContext& context, const std::vector<Floats>& gradients) {
    const Floats first = Mean(factors(0).first_size(), [&](std::size_t r, Floats& factor) {
      if (!gradients[r].empty()) factors(r).EncodeFirst(context, gradients[r], factor);
    });
    const Floats second = Mean(factors(0).second_size(), [&](std::size_t r, Floats& factor) {
      if (!gradients[r].empty()) factors(r).EncodeSecond(context, first, factor);
    });
    Floats update;
    for (std::size_t r = 0; r < ranks(); ++r) {
      if (gradients[r].empty()) continue;
      Floats result(n_);
      factors(r).Decode(context, second, result);
      if (update.empty()) update = result;
      EXPECT_TRUE(result == update) << "rank " << r;
    }
    return update;
  }

  /// Returns a compressor's state array of this name; empty if there is none.
  Floats StateOf(std::size_t rank, const std::string& name) {
    for (const auto& array : compressors_[rank]->State()) {
      if (array.name == name) return {array.values.begin(), array.values.end()};
    }
    return {};
  }

 private:
  template <class Write>
  Floats Mean(std::size_t size, Write write) {
    Floats mean(size);
    for (std::size_t r = 0; r < ranks(); ++r) {
      Floats factor(size);
      write(r, factor);
      for (std::size_t i = 0; i < size; ++i) mean[i] += factor[i];
    }
    for (float& value : mean) value /= static_cast<float>(ranks());
    return mean;
  }

  std::size_t n_;
  std::vector<std::unique_ptr<Compressor>> compressors_;
};

}  // namespace weir::test
