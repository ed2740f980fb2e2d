// main() of the tests that run as the ranks of a job: every rank runs the same tests in the same
// order. Rank 0 prints as usual, the others print their failures only.
#include <gtest/gtest.h>

#include <cstdio>
#include <memory>

#include "ops/bootstrap.h"
#include "tests/parallel/job.h"

namespace weir {

namespace {

std::unique_ptr<Transport> job_transport;

class FailuresOnly final : public testing::EmptyTestEventListener {
 public:
  explicit FailuresOnly(int rank) : rank_(rank) {}

  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    std::fprintf(stderr, "rank %d: %s:%d: %s\n", rank_,
                 result.file_name() != nullptr ? result.file_name() : "?", result.line_number(),
                 result.message());
  }

 private:
  int rank_;
};

int RunTests() {
  Bootstrap bootstrap;
  job_transport = bootstrap.Connect(std::chrono::seconds(60));
  if (job_transport->rank() != 0) {
    testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new FailuresOnly(job_transport->rank()));
  }
  const int result = RUN_ALL_TESTS();
  job_transport.reset();
  return result;
}

}  // namespace

Transport& JobTransport() { return *job_transport; }

}  // namespace weir

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return weir::RunTests();
}
