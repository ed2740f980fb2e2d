#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

/// How a bucket travels in a step: as its compressor makes it, or whole, as fp16 or fp32.
enum class BucketForm : std::uint8_t { kCompressed, kFp16, kDense };
inline constexpr std::size_t kBucketForms = 3;

/// Returns "compressed", "fp16" or "dense".
std::string_view Name(BucketForm form);

/// A step's plan: the form of each bucket of a group.
using StepPlan = std::vector<BucketForm>;

/// Writes a letter for each bucket: c, h or d.
std::string FormsText(const StepPlan& plan);
/// Reads it. Throws InvalidArgument for other letters, or another number of them.
StepPlan ParseForms(std::string_view text, std::size_t buckets);

}  // namespace weir
