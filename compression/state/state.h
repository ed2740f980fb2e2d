#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "compression/tensor_compression.h"

/// Memory of compressors, outside of them: saving, loading, and moving to another number of ranks.
/// Saving and loading on the same number of ranks is bit-exact. The bytes are described in
/// docs/wire-format.md, "Saved state". Not thread-safe with respect to the compressors.
namespace weir {

/// One state array of one tensor (TensorCompression::StateArray).
struct SavedArray {
  std::string tensor;
  std::string name;
  std::vector<float> values;

  friend bool operator==(const SavedArray&, const SavedArray&) = default;
};

/// All arrays of one rank.
struct SavedState {
  int ranks = 1;
  int rank = 0;
  /// route=hierarchical: the number of hosts, whose first ranks kept the unsent part, and this
  /// rank's place on its host. No hosts: every rank kept its own.
  int hosts = 0;
  int place = 0;
  std::int64_t step = 0;  ///< Steps completed.
  std::vector<float>
      learning_rates;  ///< In the last applied step, by parameter group; may be empty.
  std::vector<SavedArray> arrays;

  friend bool operator==(const SavedState&, const SavedState&) = default;
};

/// What is remembered of a tensor, and its name.
struct NamedCompressor {
  std::string tensor;
  TensorCompression* compression;
};

/// Describes the first array that only one of two states has, or whose lengths differ; empty when
/// both have the same arrays. `a_name` and `b_name` are names of the states.
std::string FirstDifference(const SavedState& a, const std::string& a_name, const SavedState& b,
                            const std::string& b_name);

/// Copies the arrays of all compressors. The caller fills in ranks, rank and step.
SavedState Collect(std::span<const NamedCompressor> compressors);

/// Throws InvalidArgument unless the state holds exactly the arrays of these compressors, of the
/// same sizes; the message names the tensor.
void CheckFits(const SavedState& state, std::span<const NamedCompressor> compressors);

/// Writes the arrays into the compressors. Throws as CheckFits does, with nothing changed.
void Restore(const SavedState& state, std::span<const NamedCompressor> compressors);

/// Reads each of `files` with `read`. Throws InvalidArgument for a null one; a Corrupt of `read`
/// gets the name of the file and `whose` state it is.
void ReadEach(const std::string& whose, std::span<std::istream* const> files,
              const std::function<void(std::istream&)>& read);

std::vector<std::byte> Serialize(const SavedState& state);

/// Throws Corrupt for anything but the whole output of Serialize.
SavedState Deserialize(std::span<const std::byte> bytes);

inline constexpr int kNewRank = -1;

/// The state of rank `rank` of a job whose new rank j was old rank origins[j], or joins
/// as kNewRank. `old_states` are those of all old ranks, in rank order. With N old and N'
/// new ranks every array v becomes
///
///   (N' / N) * (v + what the ranks that left held, shared equally),   v = 0 for a rank that joins,
///
/// so that the sum over ranks of v / ranks, which the model is still owed, stays the same. An array
/// with the same bits on all old ranks goes to every new one unchanged. That keeps the same sum,
/// and keeps the momentum of dense tensors and phases equal on all ranks. Adam's moments are owed
/// to nobody: each rank keeps its own, and one that joins takes the mean. The same ranks in the
/// same order give the same bits. Throws InvalidArgument for origins that repeat or do not exist,
/// or old states that do not belong together.
SavedState Remap(std::span<const SavedState> old_states, std::span<const int> origins, int rank);

}  // namespace weir
