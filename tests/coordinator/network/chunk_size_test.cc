// Chunks grow only if all ranks find the network fast
// (coordinator/work/network_speed.h).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "coordinator/engine/engine_impl.h"
#include "coordinator/engine/local_job.h"
#include "ops/transport/chunk_stream.h"
#include "tests/ops/transport/forwarding_transport.h"

namespace weir::chunk_size_test {
namespace {

constexpr std::size_t kLarge = ChunkStream::kLargeChunkBytes;
constexpr std::size_t kDefault = ChunkStream::kDefaultChunkBytes;
constexpr NetworkSpeed::Bounds kAlwaysFast{.least_bytes = 1, .fast_bits_per_ns = 0};
constexpr NetworkSpeed::Bounds kNeverFast{.least_bytes = 1, .fast_bits_per_ns = 1e9};

/// Keeps the size of the largest message.
class WatchedTransport : public ForwardingTransport {
 public:
  WatchedTransport(std::unique_ptr<Transport> inner, std::atomic<std::size_t>& largest)
      : ForwardingTransport(std::move(inner)), largest_(largest) {}
  Request Send(int peer, Tag tag, std::span<const std::byte> data) override {
    if (data.size() > largest_) largest_ = data.size();
    return ForwardingTransport::Send(peer, tag, data);
  }

 private:
  std::atomic<std::size_t>& largest_;
};

/// Two ranks on hosts of their own, with these bounds. In each of two rounds `exchange` runs on
/// both; returns the largest message of each round.
template <typename Exchange>
std::array<std::size_t, 2> LargestMessages(std::array<NetworkSpeed::Bounds, 2> bounds,
                                           const Exchange& exchange) {
  std::atomic<std::size_t> largest = 0;
  LocalJob job(2, [&](int, std::unique_ptr<Transport> direct) {
    return std::make_unique<WatchedTransport>(std::move(direct), largest);
  });
  job.SetRanksPerHost(1);
  std::array<std::size_t, 2> found{};
  std::vector<std::jthread> ranks;
  for (std::size_t rank = 0; rank < 2; ++rank) {
    ranks.emplace_back([&, rank] {
      EngineEnvironment environment = job.Environment(static_cast<int>(rank));
      environment.speed_bounds = bounds[rank];
      EngineImpl made(Settings{}, std::move(environment));
      Engine& engine = made;
      for (std::size_t& one : found) {
        exchange(engine);
        engine.Wait(engine.Barrier());
        if (rank == 0) one = largest.exchange(0);
        engine.Wait(engine.Barrier());
      }
    });
  }
  ranks.clear();
  return found;
}

constexpr std::int64_t kElements = 4 * kLarge / sizeof(float);

void AllreduceOne(Engine& engine) {
  std::vector<float> values(kElements, 1.0f);
  const Shape shape{kElements};
  engine.Wait(engine.Allreduce("x", {values.data(), DType::kFloat32, shape},
                               {values.data(), DType::kFloat32, shape}, {}));
}

void ReducescatterOne(Engine& engine) {
  std::vector<float> in(kElements, 1.0f), out(kElements);
  const auto allocate = [&](const Shape&, std::span<const std::int64_t>) -> void* {
    return out.data();
  };
  engine.Wait(
      engine.Reducescatter("x", {in.data(), DType::kFloat32, Shape{kElements}}, allocate, {}));
}

/// A step of a gradient group of its own name with this compressor.
auto StepWith(std::string compressor) {
  return [compressor = std::move(compressor)](Engine& engine) {
    const Shape shape{2048, kElements / 2048};
    std::vector<float> gradient(kElements, 1.0f), update(kElements);
    const auto group = engine.Register({.name = "g",
                                        .tensors = {{.name = "w", .shape = shape}},
                                        .compression = {{"compressor", compressor}}});
    group->BeginStep({});
    group->Submit(0, {gradient.data(), DType::kFloat32, shape},
                  {update.data(), DType::kFloat32, shape});
    group->EndStep();
    group->WaitStep();
  };
}

class ChunkSize : public testing::Test {
 protected:
  template <typename Exchange>
  void Expect(const Exchange& exchange) {
    using Sizes = std::array<std::size_t, 2>;
    EXPECT_EQ(LargestMessages({kAlwaysFast, kAlwaysFast}, exchange), (Sizes{kDefault, kLarge}));
    EXPECT_EQ(LargestMessages({kAlwaysFast, kNeverFast}, exchange), (Sizes{kDefault, kDefault}));
  }
};

TEST_F(ChunkSize, OfAnAllreduce) { Expect(AllreduceOne); }
TEST_F(ChunkSize, OfAReducescatter) { Expect(ReducescatterOne); }
TEST_F(ChunkSize, OfDenseGradients) { Expect(StepWith("dense")); }
TEST_F(ChunkSize, OfGradientsAsHalves) { Expect(StepWith("fp16")); }

}  // namespace
}  // namespace weir::chunk_size_test
