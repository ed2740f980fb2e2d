#include "coordinator/plan/step_plan.h"

#include <algorithm>
#include <iterator>

#include "weir/error.h"

namespace weir {
namespace {

constexpr std::string_view kLetters = "pscihd";  // By form.

}  // namespace

std::string_view Name(BucketForm form) {
  constexpr std::string_view kNames[] = {"push_pull", "split", "compressed",
                                         "int8",      "fp16",  "dense"};
  return kNames[static_cast<std::size_t>(form)];
}

std::string FormsText(const StepPlan& plan) {
  std::string text;
  for (const BucketForm form : plan) text += kLetters[static_cast<std::size_t>(form)];
  return text;
}

StepPlan ParseForms(std::string_view text, std::size_t buckets) {
  if (text.size() != buckets) {
    throw InvalidArgument("a plan has " + std::to_string(text.size()) + " forms for " +
                          std::to_string(buckets) + " buckets");
  }
  StepPlan plan;
  for (const char letter : text) {
    const std::size_t form = kLetters.find(letter);
    if (form == std::string_view::npos) {
      throw InvalidArgument(
          std::string("a plan has the form '") + letter +
          "'; forms are c (compressed), s (compressed, route=split), p (compressed, "
          "route=push_pull), i (int8), h (fp16) and d (dense)");
    }
    plan.push_back(static_cast<BucketForm>(form));
  }
  return plan;
}

}  // namespace weir
