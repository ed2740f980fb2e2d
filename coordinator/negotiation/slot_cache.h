#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace weir {

/// Decides which single operations hold a slot, and which of them gives way to another.
/// Used by rank 0; not thread-safe.
///
/// A slot may be taken from its name when it was not used for kPatience times as many agreements as
/// there are slots. So a program that cycles through more names than slots keeps the names it has:
/// the least recently used one would be the next one needed, every time. Names of the start, and
/// numbered ones that never come back, still go.
class SlotCache {
 public:
  static constexpr std::uint64_t kPatience = 2;

  explicit SlotCache(std::uint32_t capacity) : capacity_(capacity) {}

  /// Called between two rounds. Slots used in a round are safe in that round: ranks that act
  /// on its outcome must find them.
  void NextRound() { ++round_; }
  /// Counts an agreement on any single operation, with a slot or without.
  void CountAgreement() { ++agreements_; }
  /// Called when the slot's name was agreed on; ignores a slot of something else.
  void Use(std::uint32_t slot);

  bool full() const { return entries_.size() >= capacity_; }
  void Add(const std::string& name, std::uint32_t slot);
  /// Returns the slot of a name, if it has one.
  std::optional<std::uint32_t> Find(const std::string& name) const;
  void Remove(const std::string& name);
  /// Returns all names that hold a slot.
  std::vector<std::string> Names() const;

  /// Returns the name that was not used for longest, if that was long enough, and `wanted` says
  /// that nobody waits for its slot.
  std::optional<std::string> Oldest(const std::function<bool(std::uint32_t slot)>& wanted) const;

 private:
  struct Entry {
    std::string name;
    std::uint32_t slot = 0;
    std::uint64_t round = 0;       ///< Round of its last use,
    std::uint64_t agreements = 0;  ///< and the number of agreements then.
  };
  using Place = std::list<Entry>::iterator;

  const std::uint32_t capacity_;
  std::uint64_t round_ = 0;
  std::uint64_t agreements_ = 0;
  std::list<Entry> entries_;  ///< In order of use, the last used one last.
  std::unordered_map<std::string, Place> by_name_;
  std::unordered_map<std::uint32_t, Place> by_slot_;
};

}  // namespace weir
