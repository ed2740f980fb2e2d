// weir.h beside the C++ interface: the same bits, and every mistake as a status with a sentence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "weir/engine.h"
#include "weir/weir.h"

namespace weir::c_api_test {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kShape[] = {8, 32};
constexpr std::size_t kElements = 256;
constexpr int kSteps = 5;

std::int32_t Append(void* context, const void* data, std::size_t bytes) {
  static_cast<std::string*>(context)->append(static_cast<const char*>(data), bytes);
  return 0;
}

void* Resize(void* context, const std::int64_t* shape, std::int32_t dimensions,
             const std::int64_t* /*rows*/, std::int32_t /*ranks*/) {
  auto& values = *static_cast<std::vector<float>*>(context);
  std::size_t elements = 1;
  for (std::int32_t d = 0; d < dimensions; ++d) elements *= static_cast<std::size_t>(shape[d]);
  values.resize(elements);
  return values.data();
}

std::vector<float> GradientOf(int step) {
  std::vector<float> gradient(kElements);
  for (std::size_t i = 0; i < kElements; ++i) {
    gradient[i] =
        static_cast<float>((i * 7919 + static_cast<std::size_t>(step) * 31) % 101) - 50.0f;
  }
  return gradient;
}

/// A job of one rank.
class CApi : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(weir_init(&engine_), WEIR_OK) << weir_last_error(); }
  void TearDown() override {
    weir_gradients_free(group_);
    EXPECT_EQ(weir_shutdown(engine_), WEIR_OK) << weir_last_error();
  }

  weir_status Register(const std::vector<weir_option>& compression) {
    const weir_gradient weights = {"weights", kShape, 2, WEIR_FLOAT32, 0, 0, WEIR_CPU};
    weir_gradients_options options = WEIR_GRADIENTS_OPTIONS_INIT;
    options.compression = compression.data();
    options.compression_count = compression.size();
    return weir_register(engine_, &weights, 1, &options, &group_);
  }

  /// Takes steps from one on; returns the last update.
  std::vector<float> Train(int from, int steps) {
    std::vector<float> update(kElements);
    for (int step = from; step < from + steps; ++step) {
      const std::vector<float> gradient = GradientOf(step);
      EXPECT_EQ(weir_begin_step(group_, nullptr), WEIR_OK) << weir_last_error();
      EXPECT_EQ(weir_submit(group_, 0, gradient.data(), update.data(), nullptr, nullptr), WEIR_OK)
          << weir_last_error();
      EXPECT_EQ(weir_end_step(group_), WEIR_OK);
      weir_step_report report = WEIR_STEP_REPORT_INIT;
      EXPECT_EQ(weir_wait_step(group_, &report), WEIR_OK) << weir_last_error();
      EXPECT_EQ(report.step, step);
      EXPECT_EQ(report.dense_bytes, sizeof(float) * kElements);
    }
    return update;
  }

  static weir_array ArrayOf(std::vector<float>& values, const std::int64_t& rows) {
    return {values.data(), &rows, 1, WEIR_FLOAT32, WEIR_CPU, nullptr};
  }

  weir_engine* engine_ = nullptr;
  weir_gradients* group_ = nullptr;
};

const std::vector<weir_option> kDgc = {
    {"compressor", "dgc"}, {"density", "0.05"}, {"min_elements", "1"}};

std::vector<float> UpdateOfCpp() {
  std::vector<float> update(kElements);
  RunLocal(1, [&](Engine& engine) {
    const auto group = engine.Register(
        {.tensors = {{.name = "weights", .shape = {8, 32}}},
         .compression = {{"compressor", "dgc"}, {"density", "0.05"}, {"min_elements", "1"}}});
    for (int step = 0; step < kSteps; ++step) {
      std::vector<float> gradient = GradientOf(step);
      group->BeginStep({});
      group->Submit(0, ConstTensorView{gradient.data(), DType::kFloat32, {8, 32}},
                    {update.data(), DType::kFloat32, {8, 32}});
      group->EndStep();
      group->WaitStep();
    }
  });
  return update;
}

TEST_F(CApi, AGroupHasTheBitsOfTheCppInterface) {
  ASSERT_EQ(Register(kDgc), WEIR_OK) << weir_last_error();
  EXPECT_EQ(Train(0, kSteps), UpdateOfCpp());
  EXPECT_EQ(weir_next_step(group_), kSteps);
  EXPECT_DOUBLE_EQ(weir_next_density(group_), 0.05);
}

TEST_F(CApi, AGroupGoesOnFromItsState) {
  ASSERT_EQ(Register(kDgc), WEIR_OK) << weir_last_error();
  Train(0, 2);
  std::string state;
  ASSERT_EQ(weir_save(group_, Append, &state), WEIR_OK) << weir_last_error();
  weir_gradients_free(group_);
  ASSERT_EQ(Register(kDgc), WEIR_OK) << weir_last_error();
  const weir_bytes bytes = {state.data(), state.size()};
  ASSERT_EQ(weir_load(group_, &bytes, 1), WEIR_OK) << weir_last_error();
  EXPECT_EQ(Train(2, kSteps - 2), UpdateOfCpp());
  EXPECT_EQ(weir_adopt(group_, &bytes), WEIR_OK) << weir_last_error();
  EXPECT_EQ(weir_next_step(group_), 2);
  const weir_bytes cut = {state.data(), state.size() / 2};
  EXPECT_EQ(weir_load(group_, &cut, 1), WEIR_CORRUPT);
}

TEST_F(CApi, AStepThatIsDroppedLeavesNothing) {
  ASSERT_EQ(Register(kDgc), WEIR_OK) << weir_last_error();
  Train(0, 2);
  std::vector<float> gradient = GradientOf(77);
  weir_step step = WEIR_STEP_INIT;
  step.undoable = 1;
  ASSERT_EQ(weir_begin_step(group_, &step), WEIR_OK) << weir_last_error();
  ASSERT_EQ(weir_submit(group_, 0, gradient.data(), gradient.data(), nullptr, nullptr), WEIR_OK);
  ASSERT_EQ(weir_drop_step(group_), WEIR_OK) << weir_last_error();
  EXPECT_EQ(Train(2, kSteps - 2), UpdateOfCpp());
}

TEST_F(CApi, OperationsHaveTheirResults) {
  EXPECT_EQ(weir_rank(engine_), 0);
  EXPECT_EQ(weir_size(engine_), 1);
  EXPECT_EQ(weir_local_rank(engine_), 0);
  EXPECT_EQ(weir_local_size(engine_), 1);
  EXPECT_EQ(weir_epoch(engine_), 1);
  EXPECT_EQ(weir_hosts_updated(engine_), 0);
  std::vector<float> values(6), results;
  std::iota(values.begin(), values.end(), 1.0f);
  const std::int64_t rows = 6;
  const weir_array array = ArrayOf(values, rows);
  weir_handle handle = 0;
  const auto wait = [&] { EXPECT_EQ(weir_wait(engine_, handle), WEIR_OK) << weir_last_error(); };
  weir_reduce_options options = WEIR_REDUCE_OPTIONS_INIT;
  options.op = WEIR_SUM;
  options.postscale = 2.0;
  ASSERT_EQ(weir_allreduce(engine_, "a", &array, &array, &options, &handle), WEIR_OK);
  wait();
  EXPECT_EQ(values, (std::vector<float>{2, 4, 6, 8, 10, 12}));
  ASSERT_EQ(weir_allgather(engine_, "b", &array, Resize, &results, 0, &handle), WEIR_OK);
  wait();
  EXPECT_EQ(results, values);
  const std::int64_t splits = 4;
  ASSERT_EQ(weir_alltoall(engine_, "c", &array, &splits, 1, Resize, &results, 0, &handle), WEIR_OK);
  wait();
  EXPECT_EQ(results, (std::vector<float>{2, 4, 6, 8}));
  ASSERT_EQ(weir_reducescatter(engine_, "d", &array, Resize, &results, nullptr, &handle), WEIR_OK);
  wait();
  EXPECT_EQ(results, values);
  ASSERT_EQ(weir_broadcast(engine_, "e", &array, 0, 0, &handle), WEIR_OK);
  wait();
  ASSERT_EQ(weir_barrier(engine_, "f", 0, &handle), WEIR_OK);
  std::int32_t done = 7;
  ASSERT_EQ(weir_poll(engine_, handle, &done), WEIR_OK);
  EXPECT_TRUE(done == 0 || done == 1);
  wait();
  std::int32_t last = 7;
  ASSERT_EQ(weir_join(engine_, 0, &last), WEIR_OK) << weir_last_error();
  EXPECT_EQ(last, 0);
  std::string text;
  EXPECT_EQ(weir_explain(engine_, Append, &text), WEIR_OK);
  EXPECT_EQ(weir_set_ready(engine_), WEIR_OK);
}

/// What was said of a call that must fail.
std::string Said(weir_status status, weir_status expected = WEIR_INVALID_ARGUMENT) {
  EXPECT_EQ(status, expected);
  return weir_last_error();
}

TEST_F(CApi, MistakesHaveASentence) {
  std::vector<float> values(6);
  const std::int64_t rows = 6;
  const weir_array array = ArrayOf(values, rows);
  weir_array odd = array;
  odd.dtype = 77;
  weir_handle handle = 1234;
  EXPECT_EQ(Said(weir_allreduce(nullptr, "a", &array, &array, nullptr, &handle)),
            "weir_allreduce: engine is null");
  EXPECT_THAT(Said(weir_allreduce(engine_, nullptr, &array, &array, nullptr, &handle)),
              HasSubstr("name is null"));
  EXPECT_THAT(Said(weir_allreduce(engine_, "a", &array, nullptr, nullptr, &handle)),
              HasSubstr("out is null"));
  EXPECT_THAT(Said(weir_allreduce(engine_, "a", &odd, &array, nullptr, &handle)),
              HasSubstr("no dtype 77: weir.h has 0 to 9"));
  weir_reduce_options options = WEIR_REDUCE_OPTIONS_INIT;
  options.op = -1;
  EXPECT_THAT(Said(weir_allreduce(engine_, "a", &array, &array, &options, &handle)),
              HasSubstr("no op -1"));
  EXPECT_THAT(Said(weir_allgather(engine_, "a", &array, nullptr, nullptr, 0, &handle)),
              HasSubstr("allocate is null"));
  odd = array;
  odd.shape = nullptr;
  EXPECT_THAT(Said(weir_broadcast(engine_, "a", &odd, 0, 0, &handle)), HasSubstr("shape is null"));
  const std::int64_t splits = 6;
  EXPECT_THAT(Said(weir_alltoall(engine_, "a", &array, &splits, 0, Resize, nullptr, 0, &handle)),
              HasSubstr("splits without ranks"));
  EXPECT_EQ(handle, 1234U) << "Nothing is written by a call that fails.";
  EXPECT_THAT(Said(weir_wait(engine_, 987654)), HasSubstr("weir_wait: "));
}

TEST_F(CApi, MistakesOfARegistrationHaveASentence) {
  EXPECT_THAT(Said(Register({{"compressor", "dgcc"}})), HasSubstr("dgcc"));
  EXPECT_THAT(Said(Register({{"density", "1"}, {"density", "0.5"}})),
              HasSubstr("the option 'density' is given twice"));
  EXPECT_THAT(Said(Register({{"density", nullptr}})), HasSubstr("value of an option is null"));
  EXPECT_EQ(group_, nullptr);
  ASSERT_EQ(Register(kDgc), WEIR_OK) << weir_last_error();
  float value = 0.0f;
  EXPECT_THAT(Said(weir_submit(group_, 1, &value, &value, nullptr, nullptr)),
              HasSubstr("there is no gradient 1: 'gradients' has 1"));
  EXPECT_THAT(Said(weir_wait_step(group_, nullptr)), HasSubstr("WaitStep"));
  const auto refuse = [](void*, const void*, std::size_t) { return 5; };
  EXPECT_THAT(Said(weir_save(group_, refuse, nullptr)), HasSubstr("write returned 5"));
}

TEST_F(CApi, AMemoryThatIsNotGivenFailsTheOperation) {
  std::vector<float> values(6);
  const std::int64_t rows = 6;
  const weir_array array = ArrayOf(values, rows);
  const auto none = [](void*, const std::int64_t*, std::int32_t, const std::int64_t*,
                       std::int32_t) -> void* { return nullptr; };
  weir_handle handle = 0;
  ASSERT_EQ(weir_allgather(engine_, "a", &array, none, nullptr, 0, &handle), WEIR_OK);
  EXPECT_THAT(Said(weir_wait(engine_, handle)), HasSubstr("allocate returned null for [6]"));
}

TEST_F(CApi, AStructureOfANewerHeaderHasWhatIsKnown) {
  struct Newer {
    weir_reduce_options known = WEIR_REDUCE_OPTIONS_INIT;
    double unknown = 77.0;
  } options;
  options.known.size = sizeof(options);
  options.known.op = WEIR_SUM;
  options.known.postscale = 4.0;
  std::vector<float> values = {2.0f};
  const std::int64_t rows = 1;
  const weir_array array = ArrayOf(values, rows);
  weir_handle handle = 0;
  ASSERT_EQ(weir_allreduce(engine_, "a", &array, &array, &options.known, &handle), WEIR_OK);
  ASSERT_EQ(weir_wait(engine_, handle), WEIR_OK);
  EXPECT_EQ(values.front(), 8.0f);
}

TEST_F(CApi, AStructureWithoutItsSizeIsRefused) {
  std::vector<float> values = {2.0f};
  const std::int64_t rows = 1;
  const weir_array array = ArrayOf(values, rows);
  weir_handle handle = 0;
  weir_reduce_options options = {};
  options.op = WEIR_SUM;
  EXPECT_THAT(Said(weir_allreduce(engine_, "a", &array, &array, &options, &handle)),
              HasSubstr("size 0: begin with its WEIR_..._INIT"));
  ASSERT_EQ(Register({}), WEIR_OK) << weir_last_error();
  std::vector<float> gradient = GradientOf(0);
  weir_step_report report = {};
  ASSERT_EQ(weir_begin_step(group_, nullptr), WEIR_OK);
  ASSERT_EQ(weir_submit(group_, 0, gradient.data(), gradient.data(), nullptr, nullptr), WEIR_OK);
  ASSERT_EQ(weir_end_step(group_), WEIR_OK);
  EXPECT_THAT(Said(weir_wait_step(group_, &report)), HasSubstr("size 0"));
  report = WEIR_STEP_REPORT_INIT;
  EXPECT_EQ(weir_wait_step(group_, &report), WEIR_OK) << "The step was not over.";
}

TEST_F(CApi, WhatACallbackThrowsIsAStatus) {
  ASSERT_EQ(Register(kDgc), WEIR_OK) << weir_last_error();
  const auto fail = [](void*, const void*, std::size_t) -> std::int32_t {
    throw 5;  // NOLINT(bugprone-std-exception-baseclass): it may be anything.
  };
  EXPECT_THAT(Said(weir_save(group_, fail, nullptr), WEIR_OTHER), HasSubstr("weir_save: "));
}

TEST_F(CApi, AGroupMayOutliveItsEngine) {
  ASSERT_EQ(Register(kDgc), WEIR_OK) << weir_last_error();
  Train(0, 2);
  EXPECT_EQ(weir_shutdown(std::exchange(engine_, nullptr)), WEIR_OK);
  EXPECT_THAT(Said(weir_begin_step(group_, nullptr), WEIR_SHUT_DOWN), HasSubstr("weir_begin_step"));
  std::string state;
  EXPECT_EQ(weir_save(group_, Append, &state), WEIR_OK) << weir_last_error();
  EXPECT_FALSE(state.empty());
}

TEST_F(CApi, WhatIsReservedIsZero) {
  std::vector<float> values = {2.0f};
  const std::int64_t rows = 1;
  const weir_array array = ArrayOf(values, rows);
  weir_handle handle = 0;
  weir_reduce_options options = WEIR_REDUCE_OPTIONS_INIT;
  options.reserved = 5;
  EXPECT_THAT(Said(weir_allreduce(engine_, "a", &array, &array, &options, &handle)),
              HasSubstr("reserved = 5"));
}

TEST(CApiAlone, VersionsAndNothingToShutDown) {
  EXPECT_EQ(weir_c_api(), WEIR_C_API);
  EXPECT_STRNE(weir_version(), "");
  EXPECT_EQ(weir_shutdown(nullptr), WEIR_OK);
  EXPECT_EQ(weir_size(nullptr), -1);
  EXPECT_EQ(weir_next_step(nullptr), -1);
  weir_gradients_free(nullptr);
  EXPECT_THAT(Said(weir_init(nullptr)), HasSubstr("engine is null"));
}

}  // namespace
}  // namespace weir::c_api_test
