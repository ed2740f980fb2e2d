#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace byte_lm {

/// A text as bytes: the first 90 % to train on, the rest to validate with. Read-only after loading.
class Text {
 public:
  /// Reads a whole file. Throws weir::InvalidArgument if it cannot be read or is empty.
  static Text Load(const std::filesystem::path& path);
  explicit Text(std::vector<std::uint8_t> bytes);

  std::span<const std::uint8_t> train() const { return all().first(train_size_); }
  std::span<const std::uint8_t> validation() const { return all().subspan(train_size_); }

 private:
  std::span<const std::uint8_t> all() const { return bytes_; }

  std::vector<std::uint8_t> bytes_;
  std::size_t train_size_;
};

/// Windows of text, one a column, and the byte after each window.
struct Batch {
  Batch(int context, int size) : contexts(context, size), targets(size) {}

  int size() const { return static_cast<int>(targets.size()); }
  /// Sets `column` to the window that starts at `text[start]`.
  void Set(int column, std::span<const std::uint8_t> text, std::size_t start);

  Eigen::Matrix<std::uint8_t, Eigen::Dynamic, Eigen::Dynamic> contexts;  ///< [context, batch]
  std::vector<std::uint8_t> targets;                                     ///< [batch]
};

/// Counts windows in a text of this many bytes. Throws weir::InvalidArgument if there is none.
std::size_t CountWindows(std::size_t bytes, int context);

/// Draws training windows uniformly, with replacement. The batch of a rank at a step is a pure
/// function of (seed, step, rank): every method of an experiment sees the same data in the same
/// order, whatever it does with the gradients. The text must outlive the sampler. Thread-safe.
class Sampler {
 public:
  Sampler(std::span<const std::uint8_t> text, int context, std::uint64_t seed);
  void Fill(std::int64_t step, int rank, Batch& batch) const;

 private:
  std::span<const std::uint8_t> text_;
  std::size_t windows_;
  std::uint64_t seed_;
};

}  // namespace byte_lm
