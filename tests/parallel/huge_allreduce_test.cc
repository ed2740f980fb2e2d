#include <gtest/gtest.h>

#include "tests/ops/collectives/collective_cases.h"
#include "tests/parallel/job.h"

namespace weir {
namespace {

// About 2.2 GB a rank.
TEST(HugeAllreduce, CountsDoNotOverflow) { cases::HugeAllreduce(JobTransport()); }

// As much on rank 0 to send and on the last one to receive.
TEST(HugeAlltoall, CountsDoNotOverflow) { cases::HugeAlltoall(JobTransport()); }

}  // namespace
}  // namespace weir
