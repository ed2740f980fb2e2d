#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace weir {

/// Which single operations hold a slot, and which of them gives way to another. Rank 0's; not
/// thread-safe.
///
/// A slot may be taken from its name when it was not used for kPatience times as many agreements as
/// there are slots. A program that goes round more names than there are slots keeps the ones it has
/// so: the plain least recently used would be the one that comes next, every time. Names of the
/// start, and numbered ones that never come back, still go.
class SlotCache {
 public:
  static constexpr std::uint64_t kPatience = 2;

  explicit SlotCache(std::uint32_t capacity) : capacity_(capacity) {}

  /// Between two rounds. What a round has used is safe in that round: ranks that act on its outcome
  /// must not find it gone.
  void NextRound() { ++round_; }
  /// Any single operation was agreed on, with a slot or without.
  void CountAgreement() { ++agreements_; }
  /// The slot's name was agreed on; a slot of something else is ignored.
  void Use(std::uint32_t slot);

  bool full() const { return entries_.size() >= capacity_; }
  void Add(const std::string& name, std::uint32_t slot);
  /// The slot of a name that has one.
  std::optional<std::uint32_t> Find(const std::string& name) const;
  void Remove(const std::string& name);
  /// All that hold a slot.
  std::vector<std::string> Names() const;

  /// The name that was not used for longest, if it was long enough, and `wanted` says of its slot
  /// that nobody waits for it.
  std::optional<std::string> Oldest(const std::function<bool(std::uint32_t slot)>& wanted) const;

 private:
  struct Entry {
    std::string name;
    std::uint32_t slot = 0;
    std::uint64_t round = 0;       ///< Of its last use,
    std::uint64_t agreements = 0;  ///< and how many there had been.
  };
  using Place = std::list<Entry>::iterator;

  const std::uint32_t capacity_;
  std::uint64_t round_ = 0;
  std::uint64_t agreements_ = 0;
  std::list<Entry> entries_;  ///< The one used last is the last.
  std::unordered_map<std::string, Place> by_name_;
  std::unordered_map<std::uint32_t, Place> by_slot_;
};

}  // namespace weir
