// A bucket whose compressors have their memory on the GPU behaves like one on the CPU, in
// any order of its routes' calls.
#include "coordinator/gradients/gradient_slices.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/gpu/gpu_memory.h"
#include "common/gpu/gpu_stream.h"
#include "compression/gpu/gpu_compressor.h"
#include "compression/make_compressor.h"
#include "compression/options/registry.h"
#include "tests/gpu/gradients.h"
#include "tests/gpu/tested_gpu.h"

namespace weir::gradient_slices_test {
namespace {

constexpr double kDensity = 0.02;

struct Tensor {
  const char* name;
  Shape shape;
  DType dtype;

  std::size_t elements() const { return static_cast<std::size_t>(shape.elements()); }
};
const Tensor kTensors[] = {{"w", Shape{30, 43}, DType::kFloat32},
                           {"b", Shape{37}, DType::kFloat32},
                           {"half", Shape{20, 50}, DType::kFloat16},
                           {"brain", Shape{9}, DType::kBFloat16}};
constexpr std::size_t kCount = 4;
constexpr std::size_t kStreams = 2;

using Values = std::vector<std::vector<float>>;
using Bytes = std::vector<std::byte>;

/// The bucket of one rank, on the GPU or on the CPU.
class Bucket {
 public:
  Bucket(const Gpu* gpu, const CompressionOptions& options) : gpu_(gpu) {
    step_.codec = CodecId::kDgc;
    step_.density = kDensity;
    std::vector<GradientSlice> slices;
    for (const Tensor& tensor : kTensors) {
      GradientSlice& slice = slices.emplace_back();
      slice.name = tensor.name;
      slice.elements = tensor.elements();
      slice.dtype = tensor.dtype;
      std::unique_ptr<Compressor> made = MakeCompressor(options, {tensor.name, tensor.shape});
      const std::size_t bytes = tensor.elements() * SizeOf(tensor.dtype);
      gradients_.emplace_back(bytes);
      updates_.emplace_back(bytes);
      if (gpu == nullptr) {
        slice.gradient = gradients_.back().data();
        slice.update = updates_.back().data();
        slice.Use(*made);
        compressors_.push_back(std::move(made));
      } else {
        auto on_gpu = std::make_unique<GpuCompressor>(std::move(made), slice.elements, *gpu);
        slice.Use(*on_gpu);
        compressors_.push_back(std::move(on_gpu));
        for (auto* list : {&gradients_on_gpu_, &updates_on_gpu_}) {
          list->emplace_back(*gpu, GpuMemory::Kind::kDevice, bytes);
        }
        slice.gradient = gradients_on_gpu_.back().data();
        slice.update = updates_on_gpu_.back().data();
        slice.on_gpu = true;
      }
    }
    for (std::size_t i = 0; gpu != nullptr && i < kStreams; ++i) {
      program_.push_back(std::make_unique<GpuStream>(*gpu));
    }
    slices_ = std::make_unique<GradientSlices>("bucket", 0, std::move(slices), step_, gpu);
  }

  GradientSlices& operator*() { return *slices_; }
  TensorCompression& compressor(std::size_t t) { return *compressors_[t]; }

  /// The program hands over the gradients of the next step, and updates that have something in them
  /// until then.
  void Begin(const Values& values, bool dense_phase = false, float scale = 1.0f) {
    slices_->Keep();
    step_.contexts = {{.step = step_.step++,
                       .dense_phase = dense_phase,
                       .density = kDensity,
                       .gradient_scale = scale}};
    for (std::size_t t = 0; t < kCount; ++t) {
      gradients_[t] = MakeGradient(values[t], kTensors[t].dtype).bytes;
      updates_[t].assign(updates_[t].size(), std::byte{0x33});
      GradientSlice& slice = slices_->all()[t];
      if (gpu_ == nullptr) {
        slice.gradient = gradients_[t].data();
        continue;
      }
      GpuStream& program = *program_[t % kStreams];
      program.Copy(gradients_on_gpu_[t].data(), gradients_[t].data(), gradients_[t].size());
      program.Copy(updates_on_gpu_[t].data(), updates_[t].data(), updates_[t].size());
      slice.stream = program.handle();
    }
    slices_->RecordProgram();
    slices_->WaitForProgram();
  }
  std::vector<Bytes> Encode(std::size_t count = kCount, bool staged = false) {
    std::vector<Bytes> payloads;
    for (std::size_t t = 0; t < count; ++t) {
      const GradientSlice& slice = slices_->all()[t];
      Bytes& payload = payloads.emplace_back(slices_->MaxEncodedBytes(slice, kDensity));
      payload.resize(staged ? slices_->EncodeStaged(slice, payload)
                            : slices_->Encode(slice, payload));
    }
    slices_->AwaitDelivery();
    return payloads;
  }
  /// By sender, then tensor.
  void Merge(const std::vector<std::vector<Bytes>>& payloads) {
    std::vector<GradientSlices::Payloads> received;
    for (const std::vector<Bytes>& of_sender : payloads) {
      received.emplace_back(of_sender.begin(), of_sender.end());
    }
    slices_->MergeMeans(received);
    slices_->AwaitDelivery();
  }
  void Finish(Values means) {
    for (std::size_t t = 0; t < kCount; ++t) slices_->Finish(slices_->all()[t], means[t]);
    slices_->AwaitDelivery();
  }

  std::vector<Bytes> Updates() {
    if (gpu_ == nullptr) return updates_;
    for (const auto& program : program_) program->Await();
    for (std::size_t t = 0; t < kCount; ++t) {
      gpu_->api().copy(updates_[t].data(), updates_on_gpu_[t].data(), updates_[t].size());
    }
    return updates_;
  }
  std::vector<Bits> State() {
    std::vector<Bits> state;
    for (const auto& compressor : compressors_) {
      for (const TensorCompression::StateArray& array : compressor->State()) {
        state.push_back(BitsOf(array.values));
      }
    }
    return state;
  }
  void Restore(Bucket& from) {
    for (std::size_t t = 0; t < kCount; ++t) {
      const auto own = compressors_[t]->State();
      const auto other = from.compressors_[t]->State();
      for (std::size_t a = 0; a < own.size(); ++a) {
        std::ranges::copy(other[a].values, own[a].values.begin());
      }
      compressors_[t]->Restored();
    }
  }
  std::vector<std::uint64_t> NonFinite() const {
    std::vector<std::uint64_t> counts;
    for (const auto& compressor : compressors_) counts.push_back(compressor->non_finite_entries());
    return counts;
  }
  std::vector<float> Thresholds() const {
    std::vector<float> thresholds;
    for (const auto& compressor : compressors_) thresholds.push_back(compressor->threshold());
    return thresholds;
  }

 private:
  const Gpu* const gpu_;
  GroupStep step_;
  std::vector<std::unique_ptr<TensorCompression>> compressors_;
  std::vector<Bytes> gradients_;
  std::vector<Bytes> updates_;
  std::vector<GpuMemory> gradients_on_gpu_;
  std::vector<GpuMemory> updates_on_gpu_;
  std::vector<std::unique_ptr<GpuStream>> program_;  ///< Streams in which it works.
  std::unique_ptr<GradientSlices> slices_;
};

CompressionOptions Options(const CompressionOptions& others = {}) {
  CompressionOptions options = {
      {"compressor", "dgc"}, {"density", "0.02"}, {"momentum_mu", "0.9"}, {"min_elements", "100"}};
  for (const auto& [key, value] : others) options[key] = value;
  return options;
}

class GpuBucket : public OnGpu<testing::Test> {
 protected:
  void SetUp() override {
    OnGpu<testing::Test>::SetUp();
    if (!IsSkipped()) Make(Options());
  }
  void Make(const CompressionOptions& options) {
    on_gpu_.reset();  // It lives on the other one.
    gpu_ = std::make_unique<Gpu>(TestedGpuLibrary(), 0);
    on_gpu_ = std::make_unique<Bucket>(gpu_.get(), options);
    on_cpu_ = std::make_unique<Bucket>(nullptr, options);
  }
  Values RandomValues() {
    Values values;
    for (const Tensor& tensor : kTensors) values.push_back(gradients_.Of(tensor.elements()));
    return values;
  }
  template <typename Act>
  void OnBoth(const Act& act) {
    act(*on_gpu_);
    act(*on_cpu_);
  }
  void Compare() {
    EXPECT_EQ(on_gpu_->Updates(), on_cpu_->Updates());
    EXPECT_EQ(on_gpu_->State(), on_cpu_->State());
    EXPECT_EQ(on_gpu_->NonFinite(), on_cpu_->NonFinite());
    EXPECT_EQ(on_gpu_->Thresholds(), on_cpu_->Thresholds());
  }
  /// One step with a second rank that sends the same; compared.
  void Step() {
    const Values values = RandomValues();
    OnBoth([&](Bucket& bucket) { bucket.Begin(values); });
    const std::vector<Bytes> payloads = on_cpu_->Encode();
    ASSERT_EQ(on_gpu_->Encode(), payloads);
    OnBoth([&](Bucket& bucket) { bucket.Merge({payloads, payloads}); });
    Compare();
  }

  std::unique_ptr<Gpu> gpu_;
  std::unique_ptr<Bucket> on_gpu_;
  std::unique_ptr<Bucket> on_cpu_;
  Gradients gradients_{51};
};

TEST_F(GpuBucket, HasItsMemoryThere) {
  for (std::size_t t = 0; t < kCount; ++t) {
    EXPECT_NE((**on_gpu_).all()[t].gpu, nullptr) << kTensors[t].name;
  }
}

TEST_F(GpuBucket, TakesTheStepsOfTheCpu) {
  for (int step = 0; step < 5; ++step) Step();
}

TEST_F(GpuBucket, CompensatesTheGain) {
  Make(Options({{"gain_compensation", "true"}}));
  for (int step = 0; step < 3; ++step) Step();
}

TEST_F(GpuBucket, MergesRanksThatSentNothing) {
  Step();
  const Values values = RandomValues();
  OnBoth([&](Bucket& bucket) { bucket.Begin(values); });
  const std::vector<Bytes> payloads = on_gpu_->Encode();
  on_cpu_->Encode();
  OnBoth([&](Bucket& bucket) { bucket.Merge({std::vector<Bytes>(kCount), payloads}); });
  Compare();
}

TEST_F(GpuBucket, EncodesWhatWasStaged) {
  Step();
  const Values values = RandomValues();
  OnBoth([&](Bucket& bucket) {
    bucket.Begin(values, false, 0.5f);
    (*bucket).Stage();
  });
  const std::vector<Bytes> payloads = on_cpu_->Encode(kCount, true);
  EXPECT_EQ(on_gpu_->Encode(kCount, true), payloads);
  Compare();
}

TEST_F(GpuBucket, RevertCountsWhatWasSentAsNotSent) {
  Step();
  const Values values = RandomValues();
  OnBoth([&](Bucket& bucket) {
    bucket.Begin(values);
    bucket.Encode();
    (*bucket).Revert();
    (*bucket).Revert();  // There is nothing left to do.
  });
  Compare();
  Step();
}

TEST_F(GpuBucket, GoesOnFromWhatWasRestored) {
  Bucket other(nullptr, Options());
  const Values values = RandomValues();
  other.Begin(values);
  other.Encode();
  Step();
  OnBoth([&](Bucket& bucket) { bucket.Restore(other); });
  Compare();
  // Values sent before are not put back.
  OnBoth([&](Bucket& bucket) { (*bucket).Revert(); });
  Compare();
  Step();
}

TEST_F(GpuBucket, KeepsMomentumInTheDensePhase) {
  for (int step = 0; step < 3; ++step) {
    Values means = RandomValues();
    means[0][3] = std::numeric_limits<float>::infinity();
    means[1][4] = std::numeric_limits<float>::quiet_NaN();
    OnBoth([&](Bucket& bucket) {
      bucket.Begin(RandomValues(), true);
      bucket.Finish(means);
    });
    Compare();
  }
  EXPECT_EQ(on_gpu_->NonFinite()[0], 3u);
  Step();  // The momentum goes on.
}

// A mean that another route made, outside the dense phase.
TEST_F(GpuBucket, FinishesMeansOfOtherRoutes) {
  Step();
  const Values means = RandomValues();
  OnBoth([&](Bucket& bucket) {
    bucket.Begin(means);
    bucket.Finish(means);
  });
  Compare();
}

}  // namespace
}  // namespace weir::gradient_slices_test
