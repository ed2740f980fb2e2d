#pragma once

#include <cstdint>
#include <string>

namespace weir {

/// Who ends the job in good order, as far as a rank knows. Network thread only.
class Leaving {
 public:
  /// Notes that this rank leaves; it waits for the others until `deadline_ns`.
  void Leave(std::int64_t deadline_ns) { deadline_ns_ = deadline_ns; }
  /// Notes that another rank leaves; -1: it is not known which. The first one stays.
  void Hear(int rank) {
    heard_ = true;
    if (rank_ < 0) rank_ = rank;
  }

  /// True once this rank or another leaves.
  bool begun() const { return leaves() || heard_; }
  /// True if this rank leaves.
  bool leaves() const { return deadline_ns_ != 0; }
  bool overdue(std::int64_t now_ns) const { return leaves() && now_ns > deadline_ns_; }
  /// Returns who leaves, as the subject of a sentence.
  std::string Who() const {
    if (leaves()) return "this rank";
    return rank_ < 0 ? "a rank" : "rank " + std::to_string(rank_);
  }

 private:
  std::int64_t deadline_ns_ = 0;  ///< 0: this rank does not leave.
  bool heard_ = false;
  int rank_ = -1;
};

}  // namespace weir
