#include "benchmarks/read_pass.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "benchmarks/read_pass.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace weir::bench {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

float ReadImpl(const float* values, std::size_t count) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  auto a = hn::Zero(d);
  auto b = hn::Zero(d);
  std::size_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    a = hn::Max(a, hn::LoadU(d, values + i));
    b = hn::Max(b, hn::LoadU(d, values + i + lanes));
  }
  float largest = hn::GetLane(hn::MaxOfLanes(d, hn::Max(a, b)));
  for (; i < count; ++i) largest = values[i] > largest ? values[i] : largest;
  return largest;
}

}  // namespace HWY_NAMESPACE
}  // namespace weir::bench
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weir::bench {

HWY_EXPORT(ReadImpl);

float ReadPass(std::span<const float> values) {
  return HWY_DYNAMIC_DISPATCH(ReadImpl)(values.data(), values.size());
}

}  // namespace weir::bench
#endif
