#include "benchmarks/triad.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "benchmarks/triad.cc"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace weir::bench {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <bool kStream>
void Range(float* a, const float* b, const float* c, std::size_t begin, std::size_t end) {
  const hn::ScalableTag<float> d;
  const auto three = hn::Set(d, 3.0f);
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = begin;
  for (; i + lanes <= end; i += lanes) {
    const auto sum = hn::Add(hn::Load(d, b + i), hn::Mul(three, hn::Load(d, c + i)));
    if constexpr (kStream) {
      hn::Stream(sum, d, a + i);
    } else {
      hn::Store(sum, d, a + i);
    }
  }
  for (; i < end; ++i) a[i] = b[i] + 3.0f * c[i];
  if (kStream) hwy::FlushStream();
}

void PlainRange(float* a, const float* b, const float* c, std::size_t begin, std::size_t end) {
  Range<false>(a, b, c, begin, end);
}
void StreamRange(float* a, const float* b, const float* c, std::size_t begin, std::size_t end) {
  Range<true>(a, b, c, begin, end);
}

}  // namespace HWY_NAMESPACE
}  // namespace weir::bench
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weir::bench {
namespace {

HWY_EXPORT(PlainRange);
HWY_EXPORT(StreamRange);

/// Calls range(begin, end) for the parts of [0, n), divided as DgcStep divides a tensor.
template <typename Function>
void InParts(std::size_t n, ThreadPool& pool, const Function& range) {
  const int parts = pool.threads() == 1 ? 1 : 4 * pool.threads();
  const auto boundary = [&](int part) {
    return part == parts ? n : n * static_cast<std::size_t>(part) / parts / 64 * 64;
  };
  pool.ParallelFor(parts, [&](int part) { range(boundary(part), boundary(part + 1)); });
}

}  // namespace

void Triad(std::span<float> a, std::span<const float> b, std::span<const float> c,
           ThreadPool& pool) {
  InParts(a.size(), pool, [&](std::size_t begin, std::size_t end) {
    HWY_DYNAMIC_DISPATCH(PlainRange)(a.data(), b.data(), c.data(), begin, end);
  });
}

void TriadNonTemporal(std::span<float> a, std::span<const float> b, std::span<const float> c,
                      ThreadPool& pool) {
  InParts(a.size(), pool, [&](std::size_t begin, std::size_t end) {
    HWY_DYNAMIC_DISPATCH(StreamRange)(a.data(), b.data(), c.data(), begin, end);
  });
}

}  // namespace weir::bench
#endif
