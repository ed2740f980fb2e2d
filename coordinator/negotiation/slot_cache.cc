#include "coordinator/negotiation/slot_cache.h"

namespace weir {

void SlotCache::Use(std::uint32_t slot) {
  const auto found = by_slot_.find(slot);
  if (found == by_slot_.end()) return;
  CountAgreement();
  found->second->round = round_;
  found->second->agreements = agreements_;
  entries_.splice(entries_.end(), entries_, found->second);
}

void SlotCache::Add(const std::string& name, std::uint32_t slot) {
  const Place place = entries_.insert(entries_.end(), {name, slot, round_, agreements_});
  by_name_[name] = place;
  by_slot_[slot] = place;
}

std::optional<std::uint32_t> SlotCache::Find(const std::string& name) const {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return std::nullopt;
  return found->second->slot;
}

void SlotCache::Remove(const std::string& name) {
  const auto found = by_name_.find(name);
  by_slot_.erase(found->second->slot);
  entries_.erase(found->second);
  by_name_.erase(found);
}

std::optional<std::string> SlotCache::Oldest(
    const std::function<bool(std::uint32_t slot)>& wanted) const {
  for (const Entry& entry : entries_) {
    if (agreements_ - entry.agreements < kPatience * capacity_ || entry.round == round_) break;
    if (!wanted(entry.slot)) return entry.name;
  }
  return std::nullopt;
}

std::vector<std::string> SlotCache::Names() const {
  std::vector<std::string> names;
  for (const Entry& entry : entries_) names.push_back(entry.name);
  return names;
}

}  // namespace weir
