#include "coordinator/groups/allowed_forms.h"

#include <algorithm>
#include <cstdint>

#include "compression/compressor.h"
#include "weir/error.h"

namespace weir {

AllowedForms::AllowedForms(const GroupPlan& plan, const Settings& settings, int ranks)
    : plan_(plan),
      any_(std::ranges::any_of(
          plan.variants, [](const Variant& variant) { return !variant.alternatives.empty(); })),
      dedicated_servers_(settings.servers > 0),
      ranks_(ranks) {}

bool AllowedForms::Has(std::size_t bucket, BucketForm form) const {
  if (form == BucketForm::kCompressed) return true;
  const Variant& variant = plan_.variants[plan_.VariantOfBucket(bucket)];
  if (std::ranges::find(variant.alternatives, form) == variant.alternatives.end()) return false;
  if (form == BucketForm::kDense && !variant.remembers) return true;
  const bool by_route = form < BucketForm::kCompressed;
  if (by_route && ranks_ <= 2) return false;  // Each has half of all anyway.
  if (form == BucketForm::kServed && dedicated_servers_) return false;
  const auto may = [this, form](std::uint32_t partition) {
    const auto& compressor = plan_.compressors[partition];
    if (compressor == nullptr) return false;  // Kernels on a GPU have its memory.
    return form == BucketForm::kSplit ? compressor->entry_values().has_value()
                                      : compressor->drains();
  };
  return std::ranges::all_of(plan_.layout.buckets[bucket].tensors, may);
}

std::vector<BucketForm> AllowedForms::Of(std::size_t bucket) const {
  std::vector<BucketForm> forms;
  for (const BucketForm form : kBucketForms) {
    if (Has(bucket, form)) forms.push_back(form);
  }
  // A compressor that leaves gradients as they are changes least of all.
  if (plan_.variants[plan_.VariantOfBucket(bucket)].plain) {
    std::erase(forms, BucketForm::kCompressed);
    forms.push_back(BucketForm::kCompressed);
  }
  return forms;
}

StepPlan AllowedForms::Parse(const std::string& forms) const {
  StepPlan plan = ParseForms(forms, plan_.layout.buckets.size());
  for (std::size_t b = 0; b < plan.size(); ++b) {
    if (Has(b, plan[b])) continue;
    throw InvalidArgument("a plan has the form " + std::string(Name(plan[b])) +
                          " for the bucket '" + plan_.NameOfBucket(b) +
                          "', whose options do not have it among their \"alternatives\"");
  }
  return plan;
}

std::string AllowedForms::Text() const {
  if (!any_) return {};
  std::string text;
  for (std::size_t b = 0; b < plan_.layout.buckets.size(); ++b) {
    text += (text.empty() ? "" : " ") + FormsText(Of(b));
  }
  return text;
}

}  // namespace weir
