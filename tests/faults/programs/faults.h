#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <string>

namespace weir::faults {

/// Faults that this process makes in itself, at named phases of a step. Thread-safe.
class Faults {
 public:
  /// `text`: "PROCESS:DEED:PHASE:STEP,...". Keeps those of `process`. A phase "later" comes in the
  /// named step, after a random time from `seed` that ends within some steps.
  Faults(const std::string& text, int process, std::uint64_t seed);

  /// Does what is due at this phase of the current step, once.
  void At(const char* phase);
  void BeginStep(std::int64_t step);
  /// True, once, if `deed` is due at this phase: for what the caller itself must do.
  bool Takes(const char* deed, const char* phase);
  std::uint64_t seed() const { return seed_; }

 private:
  struct Fault {
    std::string deed;
    std::string phase;
    std::int64_t step = 0;
    std::atomic<bool> done = false;
  };

  void Do(const std::string& deed) const;
  void DoLater(const std::string& deed) const;

  const std::uint64_t seed_;
  std::atomic<std::int64_t> step_ = -1;
  std::deque<Fault> faults_;
};

/// The one that the codec "faulty" reports to, as it is made by name.
Faults*& Current();

}  // namespace weir::faults
