#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace weir {

/// A rank's report of what it is doing, sent over the membership channel. A plain value.
struct RankStatus {
  /// Process set and name of a tensor.
  using Tensor = std::pair<int, std::string>;
  /// Most tensors of a report. If there are more, it has the first ones in the order of Tensor, so
  /// that the reader knows which are left out.
  static constexpr std::size_t kMostTensors = 100;

  std::map<Tensor, double> waiting_seconds;  ///< Tensors complete on the rank, not agreed on.
  std::string last_finished;                 ///< Name of an operation; "": nothing yet.
  std::set<int> joined;                      ///< Process sets in which nobody waits for the rank.
  bool is_answer = true;                     ///< False: sent unasked.

  /// Notes that the tensor waits, if there is room for it.
  void AddWaiting(const Tensor& tensor, double seconds);
  /// True if the rank has the tensor, or may have left it out, or has joined the tensor's set.
  bool MayHave(const Tensor& tensor) const;
};

std::string TextOf(const RankStatus& status);
/// Reads as much of such a text as possible. Sets `trouble` to what cannot be read, if anything.
RankStatus ParseRankStatus(const std::string& text, std::string& trouble);

}  // namespace weir
