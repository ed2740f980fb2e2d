#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace weir::supervision {

/// Counts the connections that were turned away. Tells people of the first one at once, and of
/// further ones at most once a minute. Not thread-safe.
class TurnedAway {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Tell = std::function<void(const std::string& text)>;

  explicit TurnedAway(Tell tell) : tell_(std::move(tell)) {}

  /// Adds a connection `from` "1.2.3.4:5"; `why` goes on from "it": "said nothing for 10 s".
  void Add(const std::string& from, const std::string& why, Time now);
  /// Tells how many there were in all, unless that is known. Call at the end.
  void SumUp();

  std::uint64_t count() const { return count_; }

 private:
  const Tell tell_;
  std::uint64_t count_ = 0;
  std::uint64_t told_ = 0;  ///< The count that people know.
  Time next_;               ///< From when further ones may be told.
};

}  // namespace weir::supervision
