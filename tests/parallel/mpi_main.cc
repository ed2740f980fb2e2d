// main() of the tests that run as the ranks of a job.
#include <gtest/gtest.h>

#include <memory>

#include "ops/bootstrap.h"
#include "ops/membership/supervisor_membership.h"
#include "tests/parallel/failures_only.h"
#include "tests/parallel/job.h"

namespace weir {

namespace {

std::unique_ptr<Transport> job_transport;

int RunTests() {
  const auto supervisor = SupervisorMembership::FromEnvironment();
  Bootstrap bootstrap(Settings::FromEnvironment(), {}, supervisor.get());
  job_transport = bootstrap.Connect(std::chrono::seconds(60));
  // Ranks end at their own times: one that has met the others may leave them behind.
  if (supervisor) supervisor->Joined();
  PrintFailuresOnlyUnlessRankZero(job_transport->rank());
  const int result = RUN_ALL_TESTS();
  job_transport.reset();
  if (supervisor) supervisor->Leave();
  return result;
}

}  // namespace

Transport& JobTransport() { return *job_transport; }

}  // namespace weir

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return weir::RunTests();
}
