#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>

namespace weir::launcher {

/// Counts the epochs in a row that ended before a rank had done anything in them, though nobody had
/// died and no host had come or gone: the next one would end as they did. Takes the time as a
/// value. Not thread-safe.
class Futility {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// One may be an accident, and is tried again at once.
  static constexpr int kMost = 3;

  void OnDeal() {
    done_ = false;
    unreached_.clear();
  }
  /// A rank has come to work, or what the epochs are made of has changed.
  void OnChange() {
    done_ = true;
    epochs_ = 0;
  }
  bool done() const { return done_; }
  /// The network of the rank of this name, for people, has lost one that lives.
  void OnUnreached(std::string name) { unreached_ = std::move(name); }
  /// Returns whom it was, in this epoch; empty: nobody.
  const std::string& unreached() const { return unreached_; }

  /// The epoch has ended by one of its ranks. Returns true if no other one should follow.
  [[nodiscard]] bool OnEnd(Time now) {
    if (done_) return false;
    rests_until_ = now + kRests[static_cast<std::size_t>(std::min(epochs_, kMost - 1))];
    return ++epochs_ >= kMost;
  }
  /// When the next epoch may begin.
  Time rests_until() const { return rests_until_; }

 private:
  static constexpr std::array<std::chrono::milliseconds, kMost> kRests{
      std::chrono::milliseconds(0), std::chrono::seconds(1), std::chrono::seconds(1)};

  int epochs_ = 0;
  bool done_ = false;
  std::string unreached_;
  Time rests_until_{};
};

}  // namespace weir::launcher
