#include "common/half_array.h"

#include "common/check.h"
#include "common/half.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "common/half_array.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace weir::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag32 = hn::ScalableTag<std::uint32_t>;
using Tag16 = hn::Rebind<std::uint16_t, Tag32>;
using TagF = hn::RebindToFloat<Tag32>;
using Vec32 = hn::Vec<Tag32>;

// Each function is its scalar namesake in common/half.h, line by line.

HWY_INLINE Vec32 HalfToFloatBits(Vec32 half) {
  const Tag32 d;
  const TagF df;
  const auto rebias = hn::Set(d, (127 - 15) << 23);
  const auto two_to_minus_14 = hn::Set(d, (127 - 14) << 23);
  const auto magnitude = hn::And(half, hn::Set(d, 0x7fff));
  const auto shifted = hn::ShiftLeft<13>(magnitude);
  const auto subnormal = hn::BitCast(d, hn::Sub(hn::BitCast(df, hn::Add(two_to_minus_14, shifted)),
                                                hn::BitCast(df, two_to_minus_14)));
  auto bits =
      hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, 0x0400)), subnormal, hn::Add(shifted, rebias));
  bits = hn::Add(bits, hn::IfThenElseZero(hn::Gt(magnitude, hn::Set(d, 0x7bff)), rebias));
  bits = hn::Or(bits,
                hn::IfThenElseZero(hn::Gt(magnitude, hn::Set(d, 0x7c00)), hn::Set(d, 0x00400000)));
  return hn::Or(bits, hn::ShiftLeft<16>(hn::And(half, hn::Set(d, 0x8000))));
}

HWY_INLINE Vec32 FloatBitsToHalf(Vec32 bits) {
  const Tag32 d;
  const TagF df;
  const auto magnitude = hn::And(bits, hn::Set(d, 0x7fffffff));
  const auto half_one = hn::Set(df, 0.5f);
  const auto subnormal = hn::Sub(hn::BitCast(d, hn::Add(hn::BitCast(df, magnitude), half_one)),
                                 hn::BitCast(d, half_one));
  const auto shifted = hn::ShiftRight<13>(magnitude);
  const auto odd = hn::And(shifted, hn::Set(d, 1));
  const auto normal =
      hn::ShiftRight<13>(hn::Add(hn::Sub(magnitude, hn::Set(d, ((127 - 15) << 23) - 0x0fff)), odd));
  auto half = hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, 0x38800000)), subnormal, normal);
  half = hn::IfThenElse(hn::Gt(magnitude, hn::Set(d, 0x477fffff)), hn::Set(d, 0x7c00), half);
  const auto quiet_nan = hn::Or(hn::And(shifted, hn::Set(d, 0x03ff)), hn::Set(d, 0x7e00));
  half = hn::IfThenElse(hn::Gt(magnitude, hn::Set(d, 0x7f800000)), quiet_nan, half);
  return hn::Or(half, hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 0x8000)));
}

HWY_INLINE Vec32 BFloat16ToFloatBits(Vec32 bfloat16) { return hn::ShiftLeft<16>(bfloat16); }

HWY_INLINE Vec32 FloatBitsToBFloat16(Vec32 bits) {
  const Tag32 d;
  const auto upper = hn::ShiftRight<16>(bits);
  const auto odd = hn::And(upper, hn::Set(d, 1));
  const auto rounded = hn::ShiftRight<16>(hn::Add(hn::Add(bits, hn::Set(d, 0x7fff)), odd));
  const auto is_nan = hn::Gt(hn::And(bits, hn::Set(d, 0x7fffffff)), hn::Set(d, 0x7f800000));
  return hn::IfThenElse(is_nan, hn::Or(upper, hn::Set(d, 0x0040)), rounded);
}

/// Converts whole vectors and returns their number of elements; the scalar code does the rest.
template <class Convert>
std::size_t Widen(std::span<const std::uint16_t> in, float* out, Convert convert) {
  const Tag32 d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= in.size(); i += lanes) {
    const auto wide = hn::PromoteTo(d, hn::LoadU(Tag16(), in.data() + i));
    hn::StoreU(hn::BitCast(TagF(), convert(wide)), TagF(), out + i);
  }
  return i;
}

template <class Convert>
std::size_t Narrow(std::span<const float> in, std::uint16_t* out, Convert convert) {
  const Tag32 d;
  const hn::RebindToSigned<Tag32> signed_tag;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= in.size(); i += lanes) {
    const auto narrow = convert(hn::BitCast(d, hn::LoadU(TagF(), in.data() + i)));
    hn::StoreU(hn::DemoteTo(Tag16(), hn::BitCast(signed_tag, narrow)), Tag16(), out + i);
  }
  return i;
}

std::size_t HalvesToFloats(std::span<const std::uint16_t> in, float* out) {
  return Widen(in, out, [](Vec32 v) { return HalfToFloatBits(v); });
}
std::size_t FloatsToHalves(std::span<const float> in, std::uint16_t* out) {
  return Narrow(in, out, [](Vec32 v) { return FloatBitsToHalf(v); });
}
std::size_t BFloat16sToFloats(std::span<const std::uint16_t> in, float* out) {
  return Widen(in, out, [](Vec32 v) { return BFloat16ToFloatBits(v); });
}
std::size_t FloatsToBFloat16s(std::span<const float> in, std::uint16_t* out) {
  return Narrow(in, out, [](Vec32 v) { return FloatBitsToBFloat16(v); });
}

}  // namespace weir::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weir {

HWY_EXPORT(HalvesToFloats);
HWY_EXPORT(FloatsToHalves);
HWY_EXPORT(BFloat16sToFloats);
HWY_EXPORT(FloatsToBFloat16s);

void HalvesToFloats(std::span<const std::uint16_t> halves, std::span<float> floats) {
  WEIR_CHECK(halves.size() == floats.size());
  std::size_t i = HWY_DYNAMIC_DISPATCH(HalvesToFloats)(halves, floats.data());
  for (; i < floats.size(); ++i) floats[i] = HalfToFloat(halves[i]);
}

void FloatsToHalves(std::span<const float> floats, std::span<std::uint16_t> halves) {
  WEIR_CHECK(halves.size() == floats.size());
  std::size_t i = HWY_DYNAMIC_DISPATCH(FloatsToHalves)(floats, halves.data());
  for (; i < floats.size(); ++i) halves[i] = FloatToHalf(floats[i]);
}

void BFloat16sToFloats(std::span<const std::uint16_t> bfloat16s, std::span<float> floats) {
  WEIR_CHECK(bfloat16s.size() == floats.size());
  std::size_t i = HWY_DYNAMIC_DISPATCH(BFloat16sToFloats)(bfloat16s, floats.data());
  for (; i < floats.size(); ++i) floats[i] = BFloat16ToFloat(bfloat16s[i]);
}

void FloatsToBFloat16s(std::span<const float> floats, std::span<std::uint16_t> bfloat16s) {
  WEIR_CHECK(bfloat16s.size() == floats.size());
  std::size_t i = HWY_DYNAMIC_DISPATCH(FloatsToBFloat16s)(floats, bfloat16s.data());
  for (; i < floats.size(); ++i) bfloat16s[i] = FloatToBFloat16(floats[i]);
}

}  // namespace weir
#endif  // HWY_ONCE
