// Operations on tensors of GPUs: the results of those on the CPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/coordinator/jobs/job.h"
#include "tests/gpu/gradients.h"
#include "tests/gpu/program.h"
#include "tests/gpu/tested_gpu.h"
#include "weir/error.h"

namespace weir::operations_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Bytes = std::vector<std::byte>;

constexpr int kRanks = 3;

/// The tensors of one rank, on a GPU or on the CPU.
class Tensors {
 public:
  Tensors(Engine& engine, Device device) : engine_(engine) {
    if (device.is_gpu()) program_ = std::make_unique<Program>(device.gpu);
  }

  Engine& engine() { return engine_; }
  ProgramMemory& Make(const Bytes& values) {
    memories_.push_back(std::make_unique<ProgramMemory>(program_.get(), values.size()));
    memories_.back()->Write(values);
    return *memories_.back();
  }
  static TensorView View(ProgramMemory& memory, DType dtype, const Shape& shape) {
    return {memory.data(), dtype, shape, memory.device(), memory.stream()};
  }
  /// A tensor of numbers that follow from rank and place.
  TensorView Numbers(DType dtype, const Shape& shape) {
    const auto n = static_cast<std::size_t>(shape.elements());
    std::vector<float> values(n);
    for (std::size_t i = 0; i < n; ++i) {
      values[i] = static_cast<float>((i * 7 + static_cast<std::size_t>(engine_.rank()) * 3) % 11);
    }
    if (dtype != DType::kInt64) return View(Make(MakeGradient(values, dtype).bytes), dtype, shape);
    std::vector<std::int64_t> whole(values.begin(), values.end());
    Bytes bytes(n * sizeof(std::int64_t));
    std::memcpy(bytes.data(), whole.data(), bytes.size());
    return View(Make(bytes), dtype, shape);
  }
  /// One that the program has not done with.
  TensorView Spoilt(DType dtype, const Shape& shape) {
    return View(
        Make(Bytes(static_cast<std::size_t>(shape.elements()) * SizeOf(dtype), std::byte{0x22})),
        dtype, shape);
  }
  /// Gives memory that the program has not done with.
  AllocateOutput Asked(DType dtype) {
    return [this, dtype](const Shape& shape, std::span<const std::int64_t> rows) -> void* {
      rows_.insert(rows_.end(), rows.begin(), rows.end());
      return Spoilt(dtype, shape).data;
    };
  }
  /// Returns all tensors, in order of creation, and the requested rows.
  std::pair<std::vector<Bytes>, std::vector<std::int64_t>> Read() {
    std::vector<Bytes> all;
    for (const auto& memory : memories_) all.push_back(memory->Read());
    return {all, rows_};
  }

 private:
  Engine& engine_;
  std::unique_ptr<Program> program_;
  std::vector<std::unique_ptr<ProgramMemory>> memories_;
  std::vector<std::int64_t> rows_;
};

class GpuOperations : public OnGpu<testing::Test> {
 protected:
  using Act = std::function<void(Tensors&)>;

  static auto Run(const Act& act, const std::function<Device(int rank)>& device) {
    return Results(
        RunLocal, kRanks,
        [&](Engine& engine) {
          Tensors tensors(engine, device(engine.rank()));
          act(tensors);
          return tensors.Read();
        },
        OnTestedGpu());
  }
  /// On GPUs, on one or on several, and on some ranks alone.
  static void ExpectSame(const Act& act) {
    const auto expected = Run(act, [](int) { return Device(); });
    EXPECT_EQ(Run(act, [](int) { return Device{0}; }), expected);
    EXPECT_EQ(Run(act, [](int rank) { return TestedDevice(rank - 1); }), expected);
    EXPECT_EQ(Run(act, TestedDevice), expected);  // Each another one: over NCCL.
  }
  static std::string RefusalOf(const std::function<void(Engine&)>& act,
                               const Settings& settings = OnTestedGpu()) {
    std::string text;
    RunLocal(
        1,
        [&](Engine& engine) {
          try {
            act(engine);
          } catch (const InvalidArgument& error) {
            text = error.what();
          }
        },
        settings);
    return text;
  }
};

TEST_F(GpuOperations, AllreduceHasTheBitsOfTheCpu) {
  ExpectSame([](Tensors& tensors) {
    Engine& engine = tensors.engine();
    for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16, DType::kInt64}) {
      const Shape shape{7, 11};
      const TensorView in = tensors.Numbers(dtype, shape);
      const TensorView out = tensors.Spoilt(dtype, shape);
      engine.Wait(engine.Allreduce("sum", in, out, {.op = ReduceOp::kSum}));
      // In place, of another size, under the same name.
      const TensorView more = tensors.Numbers(dtype, Shape{200});
      engine.Wait(engine.Allreduce("sum", more, more, {.op = ReduceOp::kMax}));
    }
    const TensorView none = tensors.Numbers(DType::kFloat32, Shape{0, 4});
    engine.Wait(engine.Allreduce("none", none, none, {}));
  });
}

TEST_F(GpuOperations, GroupsHaveTheBitsOfTheCpu) {
  ExpectSame([](Tensors& tensors) {
    Engine& engine = tensors.engine();
    std::vector<Engine::ReduceTensor> reduced;
    std::vector<Engine::RowsTensor> gathered;
    for (const DType dtype : {DType::kFloat32, DType::kFloat16}) {
      const Shape shape{3 + engine.rank(), 4};
      gathered.push_back({tensors.Numbers(dtype, shape), tensors.Asked(dtype)});
      const Shape same{30};
      reduced.push_back({tensors.Numbers(dtype, same), tensors.Spoilt(dtype, same)});
    }
    engine.Wait(engine.GroupedAllreduce("reduced", reduced, {.op = ReduceOp::kSum}));
    reduced.pop_back();  // NCCL's averages of fp16 are not those of the CPU.
    engine.Wait(engine.GroupedAllreduce("averaged", reduced, {.op = ReduceOp::kAverage}));
    engine.Wait(engine.GroupedAllgather("gathered", gathered));
    std::vector<Engine::RowsTensor> scattered;
    scattered.push_back(
        {tensors.Numbers(DType::kFloat32, Shape{7, 2}), tensors.Asked(DType::kFloat32)});
    engine.Wait(engine.GroupedReducescatter("scattered", scattered, {.op = ReduceOp::kSum}));
  });
}

TEST_F(GpuOperations, ResultsOfOtherSizesHaveTheBitsOfTheCpu) {
  ExpectSame([](Tensors& tensors) {
    Engine& engine = tensors.engine();
    const std::int64_t rank = engine.rank();
    for (int round = 0; round < 3; ++round) {  // Rank 0 may have no rows.
      engine.Wait(engine.Allgather("gather",
                                   tensors.Numbers(DType::kFloat32, Shape{rank * round, 5}),
                                   tensors.Asked(DType::kFloat32)));
    }
    const std::int64_t splits[] = {rank, 1, 2};
    engine.Wait(engine.Alltoall("exchange", tensors.Numbers(DType::kInt64, Shape{rank + 3, 2}),
                                splits, tensors.Asked(DType::kInt64)));
    engine.Wait(engine.Reducescatter("scatter", tensors.Numbers(DType::kFloat16, Shape{8, 3}),
                                     tensors.Asked(DType::kFloat16), {.op = ReduceOp::kSum}));
    const TensorView one = tensors.Numbers(DType::kFloat32, Shape{19});
    engine.Wait(engine.Broadcast("broadcast", one, 1));
    const TensorView blended = tensors.Numbers(DType::kFloat32, Shape{40});
    engine.Wait(engine.Allreduce("adasum", blended, blended, {.op = ReduceOp::kAdasum}));
  });
}

TEST_F(GpuOperations, SparseTensorsHaveTheBitsOfTheCpu) {
  ExpectSame([](Tensors& tensors) {
    Engine& engine = tensors.engine();
    const std::int64_t entries = 2 + engine.rank();
    Bytes places(static_cast<std::size_t>(entries) * sizeof(std::int64_t));
    for (std::int64_t i = 0; i < entries; ++i) {
      const std::int64_t at = i * 3 % 8;
      std::memcpy(places.data() + static_cast<std::size_t>(i) * sizeof at, &at, sizeof at);
    }
    const TensorView indices =
        Tensors::View(tensors.Make(places), DType::kInt64, Shape{entries, 1});
    engine.Wait(
        engine.SparseAllreduce("sparse",
                               {.shape = Shape{8, 4},
                                .indices = {indices, tensors.Asked(DType::kInt64)},
                                .values = {tensors.Numbers(DType::kFloat32, Shape{entries, 4}),
                                           tensors.Asked(DType::kFloat32)}},
                               {.op = ReduceOp::kSum}));
  });
}

TEST_F(GpuOperations, ManyAtOnceHaveTheBitsOfTheCpu) {
  ExpectSame([](Tensors& tensors) {
    Engine& engine = tensors.engine();
    std::vector<Handle> handles;
    for (int i = 0; i < 20; ++i) {
      const TensorView tensor = tensors.Numbers(DType::kFloat32, Shape{10 + i});
      handles.push_back(engine.Allreduce("sum " + std::to_string(i), tensor, tensor, {}));
    }
    for (const Handle handle : handles) engine.Wait(handle);
  });
}

TEST_F(GpuOperations, WithoutMemoryForItsResultFailsAlone) {
  Run(
      [](Tensors& tensors) {
        Engine& engine = tensors.engine();
        const bool refuses = engine.rank() == 1;
        const AllocateOutput none = [](const Shape&, std::span<const std::int64_t>) -> void* {
          return nullptr;
        };
        const Handle handle = engine.Allgather("gather", tensors.Numbers(DType::kFloat32, Shape{4}),
                                               refuses ? none : tensors.Asked(DType::kFloat32));
        if (refuses) {
          EXPECT_THROW(engine.Wait(handle), InvalidArgument);
        } else {
          engine.Wait(handle);
        }
        const TensorView tensor = tensors.Numbers(DType::kFloat32, Shape{5});
        engine.Wait(engine.Allreduce("goes on", tensor, tensor, {}));
      },
      [](int) { return Device{0}; });
}

TEST_F(GpuOperations, OfOneOnGpuAndCpuAreRefused) {
  EXPECT_THAT(
      RefusalOf([](Engine& engine) {
        float value = 0.0f;
        const Shape shape{1};
        engine.Allreduce("x", {&value, DType::kFloat32, shape, Device{0}, nullptr},
                         {&value, DType::kFloat32, shape}, {});
      }),
      AllOf(HasSubstr("'x'"), HasSubstr("input is on cuda:0"), HasSubstr("output is on cpu")));
}

TEST_F(GpuOperations, OfTwoStreamsAreRefused) {
  EXPECT_THAT(RefusalOf([](Engine& engine) {
                const Gpu gpu(TestedGpuLibrary(), 0);
                const GpuStream stream(gpu);
                float value = 0.0f;
                const TensorView in{&value, DType::kFloat32, Shape{1}, Device{0}, nullptr};
                TensorView out = in;
                out.stream = stream.handle();
                engine.Allreduce("x", in, out, {});
              }),
              AllOf(HasSubstr("'x'"), HasSubstr("different streams")));
}

TEST_F(GpuOperations, OnTwoGpusAreRefused) {
  EXPECT_THAT(RefusalOf([](Engine& engine) {
                float value = 0.0f;
                const TensorView first{&value, DType::kFloat32, Shape{1}, Device{0}, nullptr};
                TensorView second = first;
                second.device = Device{1};
                const Engine::ReduceTensor tensors[] = {{first, first}, {second, second}};
                engine.GroupedAllreduce("x", tensors, {});
              }),
              AllOf(HasSubstr("on cuda:1"), HasSubstr("on cuda:0"), HasSubstr("one GPU")));
}

TEST(GpuOperationsWithoutALibrary, AreRefusedWithWhatIsMissing) {
  Settings settings;
  settings.gpu_library = "/no/such.so";
  RunLocal(
      1,
      [](Engine& engine) {
        float value = 0.0f;
        const TensorView view{&value, DType::kFloat32, Shape{1}, Device{0}, nullptr};
        try {
          engine.Allreduce("x", view, view, {});
          ADD_FAILURE() << "taken";
        } catch (const InvalidArgument& error) {
          EXPECT_THAT(error.what(), AllOf(HasSubstr("tensor 'x' is on cuda:0"),
                                          HasSubstr("there is no /no/such.so")));
        }
      },
      settings);
}

}  // namespace
}  // namespace weir::operations_test
