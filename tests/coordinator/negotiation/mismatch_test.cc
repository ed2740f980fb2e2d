// Ranks that disagree: each gets the same Mismatch, which names the tensor, the ranks and both
// values, and the next operation works.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "tests/coordinator/jobs/job.h"
#include "tests/coordinator/jobs/result.h"

namespace weir {
namespace {

using testing::HasSubstr;

struct Disagreement {
  std::string name;
  std::string tensor;  ///< Named by the error.
  std::string usual;   ///< Text of all ranks but the last.
  std::string odd;     ///< Text of the last one.
  std::function<void(Engine& engine, bool odd)> submit;

  friend void PrintTo(const Disagreement& kind, std::ostream* out) { *out << kind.name; }
};

/// 24 elements of any type and shape.
class Buffer {
 public:
  TensorView View(Shape shape, DType dtype = DType::kFloat32) {
    return {values_.data(), dtype, shape};
  }

 private:
  std::vector<double> values_ = std::vector<double>(24);
};

void Reduce(Engine& engine, Shape shape, DType dtype = DType::kFloat32,
            const ReduceOptions& options = {}) {
  Buffer buffer;
  engine.Wait(engine.Allreduce("x", buffer.View(shape, dtype), buffer.View(shape, dtype), options));
}

void Gather(Engine& engine, Shape shape) {
  Buffer buffer;
  std::vector<float> all;
  engine.Wait(engine.Allgather("x", buffer.View(shape), [&](const Shape& result, auto) {
    all.resize(static_cast<std::size_t>(result.elements()));
    return all.data();
  }));
}

void Exchange(Engine& engine, Shape shape) {
  Buffer buffer;
  Result result;
  const std::vector<std::int64_t> none(static_cast<std::size_t>(engine.size()), 0);
  engine.Wait(engine.Alltoall("x", buffer.View(shape), none, result.For(DType::kFloat32)));
}

void Scatter(Engine& engine, Shape shape, const ReduceOptions& options = {}) {
  Buffer buffer;
  Result result;
  engine.Wait(engine.Reducescatter("x", buffer.View(shape), result.For(DType::kFloat32), options));
}

void Copy(Engine& engine, Shape shape, int root) {
  Buffer buffer;
  engine.Wait(engine.Broadcast("x", buffer.View(shape), root));
}

GradientGroupSpec Spec() {
  return {.name = "model",
          .tensors = {{.name = "w", .shape = Shape{4, 6}}, {.name = "b", .shape = Shape{6}}},
          .compression = {{"compressor", "dgc"}, {"density", "0.01"}}};
}

/// A registration that the odd rank makes with a change.
std::function<void(Engine&, bool)> Registering(std::function<void(GradientGroupSpec&)> change) {
  return [change](Engine& engine, bool odd) {
    GradientGroupSpec spec = Spec();
    if (odd) change(spec);
    engine.Register(spec);
  };
}

std::vector<Disagreement> Disagreements() {
  return {
      {"Shape", "x", "[3, 4]", "[4, 3]",
       [](Engine& engine, bool odd) {
         Reduce(engine, odd ? Shape{4, 3} : Shape{3, 4});
       }},
      {"Type", "x", "float32", "float64",
       [](Engine& engine, bool odd) {
         Reduce(engine, Shape{5}, odd ? DType::kFloat64 : DType::kFloat32);
       }},
      {"Reduction", "x", "sum", "max",
       [](Engine& engine, bool odd) {
         Reduce(engine, Shape{5}, DType::kFloat32, {.op = odd ? ReduceOp::kMax : ReduceOp::kSum});
       }},
      {"Scale", "x", "1/1", "0.5/1",
       [](Engine& engine, bool odd) {
         Reduce(engine, Shape{5}, DType::kFloat32, {.prescale = odd ? 0.5 : 1.0});
       }},
      {"Priority", "x", "3", "4",
       [](Engine& engine, bool odd) {
         Reduce(engine, Shape{5}, DType::kFloat32, {.priority = odd ? 4 : 3});
       }},
      {"Operation", "x", "ALLREDUCE", "BROADCAST",
       [](Engine& engine, bool odd) {
         odd ? Copy(engine, Shape{5}, 0) : Reduce(engine, Shape{5});
       }},
      {"GatheredShape", "x", "[6]", "[4]",
       [](Engine& engine, bool odd) {
         Gather(engine, odd ? Shape{2, 4} : Shape{2, 6});
       }},
      {"GatheredRank", "x", "2", "1",
       [](Engine& engine, bool odd) {
         Gather(engine, odd ? Shape{2} : Shape{2, 6});
       }},
      {"ExchangedShape", "x", "[6]", "[4]",
       [](Engine& engine, bool odd) {
         Exchange(engine, odd ? Shape{2, 4} : Shape{2, 6});
       }},
      {"ExchangedRank", "x", "2", "1",
       [](Engine& engine, bool odd) {
         Exchange(engine, odd ? Shape{2} : Shape{2, 6});
       }},
      {"ScatteredShape", "x", "[2, 6]", "[3, 6]",
       [](Engine& engine, bool odd) {
         Scatter(engine, odd ? Shape{3, 6} : Shape{2, 6});
       }},
      {"ScatteredReduction", "x", "sum", "average",
       [](Engine& engine, bool odd) {
         Scatter(engine, Shape{5}, {.op = odd ? ReduceOp::kAverage : ReduceOp::kSum});
       }},
      {"ScatteredScale", "x", "1/2", "1/0.5",
       [](Engine& engine, bool odd) { Scatter(engine, Shape{5}, {.postscale = odd ? 0.5 : 2.0}); }},
      {"ScatteredPriority", "x", "3", "4",
       [](Engine& engine, bool odd) { Scatter(engine, Shape{5}, {.priority = odd ? 4 : 3}); }},
      {"ExchangeOrScatter", "x", "ALLTOALL", "REDUCESCATTER",
       [](Engine& engine, bool odd) {
         odd ? Scatter(engine, Shape{5}) : Exchange(engine, Shape{5});
       }},
      {"BroadcastShape", "x", "[6]", "[7]",
       [](Engine& engine, bool odd) { Copy(engine, odd ? Shape{7} : Shape{6}, 0); }},
      {"BroadcastRoot", "x", "0", "1",
       [](Engine& engine, bool odd) { Copy(engine, Shape{6}, odd ? 1 : 0); }},
      {"CompressorSetting", "model", "density=0.01", "density=0.02",
       Registering([](GradientGroupSpec& spec) { spec.compression["density"] = "0.02"; })},
      {"SettingOfAPattern", "model", "density[w]=0.03", "density[w]=0.02",
       [](Engine& engine, bool odd) {
         GradientGroupSpec spec = Spec();
         spec.compression["density[w]"] = odd ? "0.02" : "0.03";
         engine.Register(spec);
       }},
      {"SettingOfATensor", "model", "compressor of w=dgc", "compressor of w=topk",
       [](Engine& engine, bool odd) {
         GradientGroupSpec spec = Spec();
         spec.tensors[0].compression = {{"compressor", odd ? "topk" : "dgc"}};
         engine.Register(spec);
       }},
      {"NumberOfSettings", "model", "no clip_norm", "clip_norm=1",
       Registering([](GradientGroupSpec& spec) { spec.compression["clip_norm"] = "1"; })},
      {"NumberOfTensors", "model", "2", "1",
       Registering([](GradientGroupSpec& spec) { spec.tensors.pop_back(); })},
      {"RegisteredName", "b", "'b' float32 [6]", "'bias' float32 [6]",
       Registering([](GradientGroupSpec& spec) { spec.tensors[1].name = "bias"; })},
      {"RegisteredShape", "w", "'w' float32 [4, 6]", "'w' float32 [6, 4]",
       Registering([](GradientGroupSpec& spec) {
         spec.tensors[0].shape = Shape{6, 4};
       })},
      {"RegisteredType", "w", "'w' float32 [4, 6]", "'w' float16 [4, 6]",
       Registering([](GradientGroupSpec& spec) { spec.tensors[0].dtype = DType::kFloat16; })},
      {"ParameterGroup", "model", "parameter group of b=0", "parameter group of b=1",
       Registering([](GradientGroupSpec& spec) { spec.tensors[1].parameter_group = 1; })},
  };
}

class Mismatches : public testing::TestWithParam<std::tuple<int, Disagreement>> {};

TEST_P(Mismatches, NameTensorRanksAndValuesAndTheNextOperationWorks) {
  const int ranks = std::get<0>(GetParam());
  const Disagreement& kind = std::get<1>(GetParam());
  if (ranks == 1) return;  // One rank cannot disagree.
  RunJob(ranks, [&](Engine& engine) {
    const int last = engine.size() - 1;
    try {
      kind.submit(engine, engine.rank() == last);
      ADD_FAILURE() << "no Mismatch on rank " << engine.rank();
    } catch (const Mismatch& error) {
      EXPECT_THAT(error.what(),
                  HasSubstr("(tensor '" + kind.tensor + "': rank 0 has " + kind.usual + ", rank " +
                            std::to_string(last) + " has " + kind.odd + ")"));
      EXPECT_EQ(error.context().ranks, (std::vector<int>{0, last}));
    }
    // Under the same name, and all agreeing.
    kind.submit(engine, false);
    Reduce(engine, Shape{2});
  });
}

INSTANTIATE_TEST_SUITE_P(, Mismatches,
                         testing::Combine(testing::ValuesIn(JobSizes()),
                                          testing::ValuesIn(Disagreements())),
                         [](const auto& test) {
                           return std::get<1>(test.param).name + "Ranks" +
                                  std::to_string(std::get<0>(test.param));
                         });

}  // namespace
}  // namespace weir
