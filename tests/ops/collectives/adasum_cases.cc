#include <gtest/gtest.h>

#include <string>

#include "ops/collectives/adasum.h"
#include "tests/ops/collectives/adasum_reference.h"
#include "tests/ops/collectives/case_tools.h"
#include "tests/ops/collectives/collective_cases.h"
#include "tests/ops/collectives/run_ranks.h"

namespace weir::cases {

void Adasums(Transport& transport) {
  Adasum adasum(transport);
  constexpr std::size_t kSeveralMessages = 140000;  // In fp32.
  for (const std::size_t elements :
       {std::size_t{0}, std::size_t{1}, std::size_t{7}, kSeveralMessages}) {
    for (const DType dtype : adasum::kTypes) {
      if (elements == kSeveralMessages && dtype != DType::kFloat32) continue;
      SCOPED_TRACE(std::to_string(elements) + " of " + std::string(Name(dtype)));
      const std::uint32_t operation = NextOperation();
      const auto n = static_cast<std::int64_t>(elements);
      // Beside it a short one, with factors of its own.
      Bytes first = adasum::InputBytes(transport.rank(), elements, operation, dtype);
      const Bytes second = adasum::InputBytes(transport.rank(), 5, operation + 1, dtype);
      Bytes out(second.size());
      const Array arrays[] = {{first.data(), first.data(), n, dtype},
                              {second.data(), out.data(), 5, dtype}};
      adasum.Bind(arrays, {.op = ReduceOp::kAdasum, .prescale = 0.5, .postscale = 3.0});
      RunCollective(adasum, operation);
      EXPECT_TRUE(adasum.Poll());
      const auto expected = [&](std::size_t count, std::uint32_t salt) {
        return adasum::Expected(transport.size(), count, salt, dtype, 0.5, 3.0);
      };
      adasum::ExpectNear(first, expected(elements, operation), dtype);
      adasum::ExpectNear(out, expected(5, operation + 1), dtype);
    }
  }
}

}  // namespace weir::cases
