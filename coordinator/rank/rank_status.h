#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace weir {

/// What a rank says that it is doing, over the membership channel. A plain value.
struct RankStatus {
  /// A tensor of a process set.
  using Tensor = std::pair<int, std::string>;
  /// There is no room for more; those that come first by name are told, so that the reader knows
  /// which are not.
  static constexpr std::size_t kMostTensors = 100;

  std::map<Tensor, double> waiting_seconds;  ///< Complete on the rank and not agreed on.
  std::string last_finished;                 ///< Name of an operation; "": nothing yet.
  std::set<int> joined;                      ///< Process sets in which nobody waits for the rank.
  bool is_answer = true;                     ///< False: nobody has asked.

  /// Notes that the tensor waits, if there is room for it.
  void AddWaiting(const Tensor& tensor, double seconds);
  /// Whether the tensor may wait there though it is left out.
  bool MayHave(const Tensor& tensor) const;
};

std::string TextOf(const RankStatus& status);
/// What can be read of such a text; `trouble` says what cannot, and else stays as it is.
RankStatus ParseRankStatus(const std::string& text, std::string& trouble);

}  // namespace weir
