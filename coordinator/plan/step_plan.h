#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

/// How a bucket travels in a step: as its compressor makes it, whichever way its options say
/// (kCompressed), divided among the ranks (kSplit), or added up by ranks that serve, and compressed
/// once more (kServed); or whole, as int8, fp16 or fp32. By how much they change what is trained,
/// most first.
enum class BucketForm : std::uint8_t { kServed, kSplit, kCompressed, kInt8, kFp16, kDense };
inline constexpr BucketForm kBucketForms[] = {BucketForm::kServed,     BucketForm::kSplit,
                                              BucketForm::kCompressed, BucketForm::kInt8,
                                              BucketForm::kFp16,       BucketForm::kDense};
/// A value for each form.
template <typename T>
using ByForm = std::array<T, std::size(kBucketForms)>;

/// Returns "push_pull", "split", "compressed", "int8", "fp16" or "dense".
std::string_view Name(BucketForm form);

/// A step's plan: the form of each bucket of a group.
using StepPlan = std::vector<BucketForm>;

/// A plan as the rank that made it tells it to all.
struct ToldPlan {
  std::int64_t from_step = 0;
  std::string forms;      ///< FormsText.
  bool measures = false;  ///< All ranks measure the network after that step.
};

/// Writes a letter for each bucket: p, s, c, i, h or d.
std::string FormsText(const StepPlan& plan);
/// Reads it. Throws InvalidArgument for other letters, or another number of them.
StepPlan ParseForms(std::string_view text, std::size_t buckets);

}  // namespace weir
