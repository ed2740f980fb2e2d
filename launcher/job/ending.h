#pragma once

#include <chrono>
#include <optional>

namespace weir::launcher {

/// How a job is ended: survivors of a failure get a grace time, then SIGTERM, then SIGKILL; then
/// weirrun gives them up. Only forwards: a job that is being killed is not asked politely again.
/// Takes the time as a value. Not thread-safe.
class Ending {
 public:
  using Time = std::chrono::steady_clock::time_point;
  enum class Phase { kNone, kGrace, kTerminating, kKilling, kGivenUp };

  /// `kill_after`: from SIGTERM to SIGKILL, then to giving up.
  explicit Ending(std::chrono::milliseconds kill_after) : kill_after_(kill_after) {}

  bool begun() const { return phase_ != Phase::kNone; }
  Phase phase() const { return phase_; }
  /// The end of the present phase; nothing before the first and after the last.
  std::optional<Time> deadline() const {
    if (!begun() || phase_ == Phase::kGivenUp) return {};
    return until_;
  }

  /// Enters a phase. False, without effect, if it or a later one has begun.
  bool Enter(Phase phase, Time until) {
    if (phase <= phase_) return false;
    phase_ = phase;
    until_ = until;
    return true;
  }
  /// Returns the phase to enter now, and its end, once the present one has passed.
  struct Next {
    Phase phase;
    Time until;
  };
  std::optional<Next> Due(Time now) const {
    if (const auto end = deadline(); !end || now < *end) return {};
    return Next{static_cast<Phase>(static_cast<int>(phase_) + 1), now + kill_after_};
  }

 private:
  std::chrono::milliseconds kill_after_;
  Phase phase_ = Phase::kNone;
  Time until_{};
};

}  // namespace weir::launcher
