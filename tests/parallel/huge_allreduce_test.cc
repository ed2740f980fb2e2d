#include <gtest/gtest.h>

#include "tests/ops/collective_cases.h"
#include "tests/parallel/job.h"

namespace weir {
namespace {

// About 2.2 GB a rank.
TEST(HugeAllreduce, CountsDoNotOverflow) { cases::HugeAllreduce(JobTransport()); }

}  // namespace
}  // namespace weir
