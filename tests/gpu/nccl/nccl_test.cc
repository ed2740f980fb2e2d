// Tensors that use NCCL, and those that do not; closing and aborting it.
// Its results: operations_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <future>
#include <latch>
#include <memory>
#include <string>
#include <vector>

#include "coordinator/engine/engine_impl.h"
#include "coordinator/engine/local_job.h"
#include "tests/coordinator/jobs/engine_calls.h"
#include "tests/coordinator/jobs/job.h"
#include "tests/gpu/gradients.h"
#include "tests/gpu/nccl/over_nccl.h"
#include "tests/gpu/program.h"
#include "tests/gpu/tested_gpu.h"
#include "weir/error.h"

namespace weir {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr int kRanks = 3;

/// Numbers on the GPU of a rank.
class Numbers {
 public:
  Numbers(Engine& engine, const std::vector<float>& values, DType dtype = DType::kFloat32,
          int gpu = -1)
      : program_(gpu < 0 ? engine.rank() : gpu),
        dtype_(dtype),
        elements_(static_cast<std::int64_t>(values.size())),
        memory_(&program_, values.size() * SizeOf(dtype)) {
    memory_.Write(MakeGradient(values, dtype).bytes);
  }
  TensorView view() {
    return {memory_.data(), dtype_, Shape{elements_}, memory_.device(), memory_.stream()};
  }
  std::vector<std::byte> Read() { return memory_.Read(); }
  /// Returns fp32 values.
  std::vector<float> Values() {
    std::vector<float> values(static_cast<std::size_t>(elements_));
    std::memcpy(values.data(), Read().data(), values.size() * sizeof(float));
    return values;
  }

 private:
  Program program_;
  const DType dtype_;
  const std::int64_t elements_;
  ProgramMemory memory_;
};

class OverNccl : public OnGpuEach<kRanks> {
 protected:
  static Settings With(GpuTransport transport) {
    Settings settings = OnTestedGpu();
    settings.gpu_transport = transport;
    return settings;
  }
};

TEST_F(OverNccl, NoPayloadIsAmongTheBytesOfTheHostsNetwork) {
  const std::vector<float> values(1 << 20, 1.0f);
  const auto sent = [&](const Settings& settings, bool on_one_gpu) {
    return Results(
        RunLocal, kRanks,
        [&](Engine& engine) {
          Numbers numbers(engine, values, DType::kFloat32, on_one_gpu ? 0 : -1);
          engine.Wait(engine.Allreduce("x", numbers.view(), numbers.view()));
          engine.Wait(engine.Broadcast("y", numbers.view(), 1));
          EXPECT_EQ(numbers.Values(), values);
          // On whatever network: an all-reduce sends four thirds of them.
          const EngineGauges& gauges = dynamic_cast<EngineImpl&>(engine).gauges();
          EXPECT_GE(gauges.traffic[static_cast<std::size_t>(TrafficOp::kAllreduce)].total_sent(),
                    values.size() * sizeof(float));
          return engine.network_totals().sent_bytes;
        },
        settings)[1];
  };
  constexpr std::uint64_t kFew = 20'000;
  EXPECT_LT(sent(OnTestedGpu(), false), kFew);
  EXPECT_LT(sent(With(GpuTransport::kNccl), false), kFew);
  EXPECT_GT(sent(With(GpuTransport::kMpiStaged), false), values.size());
  EXPECT_GT(sent(OnTestedGpu(), true), values.size());
  Settings in_rank_order = OnTestedGpu();
  in_rank_order.deterministic = true;
  EXPECT_GT(sent(in_rank_order, false), values.size());
}

TEST_F(OverNccl, FactorsAndAveragesAreThoseOfTheHost) {
  const auto reduce = [&](const Settings& settings, DType dtype) {
    return Results(
        RunLocal, kRanks,
        [&](Engine& engine) {
          // With factors that are powers of two, all sums are exact in each of the types.
          Numbers numbers(engine, {1.0f, -2.0f, 3.5f, static_cast<float>(4 * engine.rank())},
                          dtype);
          std::vector<std::vector<std::byte>> results;
          for (int run = 0; run < 40; ++run) {  // More factors than operators are kept.
            const double scale = std::ldexp(1.0, run % 4 == 0 ? run / 4 - 5 : -2);
            Numbers copy(engine, {8.0f, static_cast<float>(engine.rank()), 0.25f}, dtype);
            engine.Wait(
                engine.Allreduce("scaled", copy.view(), copy.view(),
                                 {.op = ReduceOp::kSum, .prescale = scale, .postscale = 0.5}));
            results.push_back(copy.Read());
          }
          engine.Wait(engine.Allreduce("average", numbers.view(), numbers.view(),
                                       {.prescale = 6.0, .postscale = 0.5}));
          results.push_back(numbers.Read());
          return results;
        },
        settings);
  };
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16}) {
    EXPECT_EQ(reduce(With(GpuTransport::kNccl), dtype),
              reduce(With(GpuTransport::kMpiStaged), dtype))
        << Name(dtype);
  }
}

TEST_F(OverNccl, ProcessSetsHaveTheirOwnAndRanksMayChangeGpus) {
  RunLocal(
      kRanks,
      [](Engine& engine) {
        const int pair[] = {0, 2};
        const int set = engine.AddProcessSet(pair);
        for (int step = 0; step < 4; ++step) {
          Numbers all(engine, {1.0f, 2.0f}, DType::kFloat32, (engine.rank() + step) % kRanks);
          const Handle sum =
              engine.Allreduce("all", all.view(), all.view(), {.op = ReduceOp::kSum});
          if (engine.rank() != 1) {
            Numbers of_pair(engine, {5.0f});
            engine.Wait(engine.Allreduce("pair", of_pair.view(), of_pair.view(),
                                         {.op = ReduceOp::kSum, .process_set = set}));
            EXPECT_EQ(of_pair.Values(), std::vector<float>{10.0f});
          }
          engine.Wait(sum);
          EXPECT_EQ(all.Values(), (std::vector<float>{3.0f, 6.0f}));
        }
        EXPECT_LT(engine.network_totals().sent_bytes, 50'000U);
        engine.RemoveProcessSet(set);
      },
      With(GpuTransport::kNccl));
}

TEST_F(OverNccl, RanksThatShareAGpuAreRefusedWhereNothingElseMayCarryThem) {
  RunLocal(
      kRanks,
      [](Engine& engine) {
        Numbers numbers(engine, {1.0f}, DType::kFloat32, 0);
        std::string error;
        try {
          engine.Wait(engine.Allreduce("x", numbers.view(), numbers.view()));
        } catch (const Mismatch& mismatch) {
          error = mismatch.what();
        }
        EXPECT_THAT(error, AllOf(HasSubstr("'x'"), HasSubstr("ranks 0 and 1 share the GPU GPU-"),
                                 HasSubstr("WEIR_GPU_TRANSPORT")));
        Numbers own(engine, {1.0f});
        engine.Wait(engine.Allreduce("x", own.view(), own.view()));  // The job goes on.
      },
      With(GpuTransport::kNccl));
}

TEST_F(OverNccl, WithoutALibraryTensorsAreStagedOrRefused) {
  Settings settings = OnTestedGpu();
  settings.nccl_library = "/no/such/libnccl.so.2";
  RunLocal(
      kRanks,
      [](Engine& engine) {
        Numbers numbers(engine, {1.0f});
        engine.Wait(engine.Allreduce("x", numbers.view(), numbers.view(), {.op = ReduceOp::kSum}));
        EXPECT_EQ(numbers.Values(), std::vector<float>{kRanks});
      },
      settings);
  settings.gpu_transport = GpuTransport::kNccl;
  RunLocal(
      1,
      [](Engine& engine) {
        Numbers numbers(engine, {1.0f});
        EXPECT_THAT(ErrorOf([&] { engine.Allreduce("x", numbers.view(), numbers.view()); }),
                    AllOf(StartsWith("InvalidArgument"), HasSubstr("WEIR_GPU_TRANSPORT=nccl"),
                          HasSubstr("/no/such/libnccl.so.2")));
      },
      settings);
}

TEST_F(OverNccl, ARankThatDiesLeavesNobodyWaitingForIt) {
  LocalJob job(kRanks);
  std::latch others_exchange(kRanks - 1);
  std::latch others_ended(kRanks - 1);
  job.Run(
      [&](Engine& engine) {
        const bool dies = engine.rank() == 1;
        Numbers numbers(engine, {1.0f});
        Numbers gathered(engine, std::vector<float>(kRanks));
        // Asked for right before the ranks call NCCL: the one that dies never does.
        const AllocateOutput allocate = [&](const Shape&, std::span<const std::int64_t>) -> void* {
          if (dies) {
            others_exchange.wait();
            job.hub().Kill(1);
            others_ended.wait();
          } else {
            others_exchange.count_down();
          }
          return gathered.view().data;
        };
        engine.Wait(engine.Allreduce("common", numbers.view(), numbers.view()));
        const Handle gather = engine.Allgather("x", numbers.view(), allocate);
        if (dies) {
          others_ended.wait();
          engine.Abort("the test is over for the dead rank");
          EXPECT_NE(ErrorOf([&] { engine.Wait(gather); }), "");  // Nobody uses its memory now.
          return;
        }
        EXPECT_THAT(ErrorOf([&] { engine.Wait(gather); }), HasSubstr("PeerLost: rank 1"));
        others_ended.count_down();
      },
      With(GpuTransport::kNccl));
}

}  // namespace
}  // namespace weir
