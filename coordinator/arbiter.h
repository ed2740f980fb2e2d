#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "coordinator/request.h"

namespace weir {

/// Rank 0's side of the slow path: collects what every rank asks for, compares it, and gives ids.
/// No threads, no network. Not thread-safe.
class Arbiter {
 public:
  /// `cache_capacity`: how many single operations may hold a slot; further ones ask every time.
  Arbiter(int size, std::uint32_t cache_capacity);

  /// Rank `rank` asks. A rank asks for a name at most once until the answer.
  void Add(int rank, Request request);

  /// The answers that are due, in an order that every rank follows. Empties the list.
  std::vector<Response> Take();

 private:
  struct Pending {
    std::vector<std::optional<Request>> by_rank;
    int count = 0;
  };
  struct Assigned {
    std::uint32_t slot = 0;
    bool single = true;
  };

  void Decide(const std::string& name, Pending pending);
  std::uint32_t Assign(const Request& request);
  void Forget(const std::string& name);

  const int size_;
  const std::uint32_t cache_capacity_;
  std::map<std::string, Pending> pending_;
  std::unordered_map<std::string, Assigned> assigned_;
  std::vector<std::uint32_t> free_slots_;
  std::uint32_t next_slot_ = 0;
  std::uint32_t singles_ = 0;
  std::vector<Response> responses_;
};

}  // namespace weir
