// Jobs whose exchanges go host by host. Hosts are made up; what crosses between them is counted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "compression/state.h"
#include "coordinator/hosts.h"
#include "coordinator/local_job.h"
#include "tests/engine/result.h"
#include "tests/engine/text_of.h"
#include "tests/engine/training.h"
#include "tests/ops/counting_transport.h"
#include "weir/error.h"

namespace weir {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::size_t kElements = 12000;
constexpr std::size_t kBytes = kElements * sizeof(float);

Settings Hierarchical() {
  Settings settings;
  settings.hierarchical_allreduce = settings.hierarchical_allgather = true;
  return settings;
}

/// A job on made-up hosts, each with so many ranks in a row, but for the last one.
class JobOnHosts {
 public:
  JobOnHosts(int ranks, int ranks_per_host)
      : job_(ranks, [this, ranks_per_host](int rank, std::unique_ptr<Transport> direct) {
          return std::make_unique<CountingTransport>(
              std::move(direct), [this, ranks_per_host, rank](int peer, std::size_t bytes) {
                if (rank / ranks_per_host != peer / ranks_per_host) crossed_ += bytes;
              });
        }) {
    job_.SetRanksPerHost(ranks_per_host);
  }

  void Run(const std::function<void(Engine&)>& body, const Settings& settings = Hierarchical()) {
    job_.Run(body, settings);
  }
  LocalJob& job() { return job_; }
  /// All that ranks sent to other hosts; of all ranks, once they have met after it.
  std::size_t crossed() const { return crossed_; }

 private:
  std::atomic<std::size_t> crossed_ = 0;
  LocalJob job_;
};

std::vector<float> Sum(Engine& engine, const std::string& name, int set = 0) {
  std::vector<float> values(kElements, static_cast<float>(1 << engine.rank()));
  const TensorView view = ViewOf(std::span<float>(values));
  engine.Wait(engine.Allreduce(name, view, view, {.op = ReduceOp::kSum, .process_set = set}));
  return values;
}

std::vector<std::byte> Gather(Engine& engine, const std::string& name) {
  const std::vector<float> values(kElements, static_cast<float>(engine.rank()));
  Result result;
  engine.Wait(
      engine.Allgather(name, ViewOf(std::span<const float>(values)), result.For(DType::kFloat32)));
  return result.bytes;
}

/// What two runs of the same program send between hosts, with and without the settings.
struct Crossed {
  std::size_t flat = 0;
  std::size_t hierarchical = 0;
};

Crossed CrossedBy(const std::function<void(Engine&)>& body) {
  JobOnHosts flat(4, 2), hierarchical(4, 2);
  flat.Run(body, {});
  hierarchical.Run(body);
  return {flat.crossed(), hierarchical.crossed()};
}

TEST(HostsOf, GoesByTheNamesOfHosts) {
  const RankLocation a0 = LocationOf("a", 0), a1 = LocationOf("a", 1), b0 = LocationOf("b", 0);
  EXPECT_THAT(HostsOf(std::vector{a0, a1, b0}), ElementsAre(0, 0, 1));
  EXPECT_THAT(HostsOf(std::vector{a0, b0, a1}), ElementsAre(0, 1, 0));
}

TEST(HostsOf, HostsOfOneNameAreToldApartByTheirLocalRanks) {
  const RankLocation first = LocationOf("container", 0), second = LocationOf("container", 1);
  EXPECT_THAT(HostsOf(std::vector{first, second, first, second}), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(HostsOf(std::vector{first, first, second, second}), ElementsAre(0, 1, 0, 1));
}

TEST(HostsOf, AreDescribedForPeople) {
  EXPECT_EQ(RanksOnHosts(std::vector{0, 0, 1, 1}), "2 on each of 2 hosts");
  EXPECT_EQ(RanksOnHosts(std::vector{0, 0, 1, 1, 2}), "2, 2 and 1 on 3 hosts");
  EXPECT_EQ(RanksOnHosts(std::vector{0, 0}), "2 on each of 1 host");
}

TEST(HierarchicalExchanges, AllreducesCrossHalfAsMuchWithTwoRanksAHost) {
  const Crossed crossed =
      CrossedBy([](Engine& engine) { EXPECT_THAT(Sum(engine, "x"), Each(15.0f)); });
  // Flat, each rank sends a quarter to two ranks elsewhere, twice; else half of a half, twice.
  EXPECT_GT(crossed.flat, 4 * kBytes);
  EXPECT_LT(crossed.flat, 4 * kBytes + 8192);
  EXPECT_GT(crossed.hierarchical, 2 * kBytes);
  EXPECT_LT(crossed.hierarchical, 2 * kBytes + 8192);
}

TEST(HierarchicalExchanges, AllgathersCrossHalfAsMuchWithTwoRanksAHost) {
  const Crossed crossed = CrossedBy([](Engine& engine) {
    const std::vector<std::byte> bytes = Gather(engine, "x");
    ASSERT_EQ(bytes.size(), 4 * kBytes);
    const auto* values = reinterpret_cast<const float*>(bytes.data());
    for (std::size_t i = 0; i < 4 * kElements; i += 1000) {
      const std::size_t rank = i / kElements;
      EXPECT_EQ(values[i], static_cast<float>(rank));
    }
  });
  EXPECT_GT(crossed.flat, 8 * kBytes);
  EXPECT_LT(crossed.flat, 8 * kBytes + 8192);
  EXPECT_GT(crossed.hierarchical, 4 * kBytes);
  EXPECT_LT(crossed.hierarchical, 4 * kBytes + 8192);
}

TEST(HierarchicalExchanges, GroupsOfGradientsAndOfArraysGoHostByHostToo) {
  const Crossed crossed = CrossedBy([](Engine& engine) {
    std::vector<float> gradient(kElements, static_cast<float>(engine.rank()));
    std::vector<float> first(kElements, 1.0f), second(kElements, 2.0f);
    GradientGroupSpec spec;
    spec.tensors.push_back({.name = "w", .shape = Shape{static_cast<std::int64_t>(kElements)}});
    const auto group = engine.Register(std::move(spec));
    group->BeginStep({});
    const TensorView view = ViewOf(std::span<float>(gradient));
    engine.Wait(group->Submit(0, view, view));
    group->EndStep();
    group->WaitStep();
    EXPECT_THAT(gradient, Each(1.5f));
    const TensorView one = ViewOf(std::span<float>(first)), two = ViewOf(std::span<float>(second));
    const std::vector<Engine::ReduceTensor> tensors = {{one, one}, {two, two}};
    engine.Wait(engine.GroupedAllreduce("both", tensors, {.op = ReduceOp::kSum}));
    EXPECT_THAT(first, Each(4.0f));
    EXPECT_THAT(second, Each(8.0f));
  });
  EXPECT_GT(crossed.flat, 12 * kBytes);
  EXPECT_LT(crossed.hierarchical, 6 * kBytes + 16384);
}

TEST(HierarchicalExchanges, ReplicasStayEqualInAllTheirBits) {
  for (const Options& compression : {Options{}, DgcOptions("nesterov", 3)}) {
    JobOnHosts job(6, 2);
    std::vector<std::uint64_t> hashes(6);
    job.Run([&](Engine& engine) {
      Training training(engine, compression);
      training.Steps(6);
      hashes[static_cast<std::size_t>(engine.rank())] = training.Hash();
    });
    EXPECT_THAT(hashes, Each(hashes.front()));
  }
}

/// What one step sends between hosts, of a matrix whose frames have so many bytes at most.
std::size_t CrossedByAStep(const std::string& route, std::vector<float>* mean = nullptr) {
  JobOnHosts job(4, 2);
  std::atomic<std::size_t> before = 0;
  std::size_t crossed = 0;
  job.Run(
      [&](Engine& engine) {
        const Shape shape{100, 120};
        const auto group = engine.Register({.name = "g",
                                            .tensors = {{.name = "w", .shape = shape}},
                                            .compression = {{"compressor", "topk"},
                                                            {"k", "100"},
                                                            {"values", "fp32"},
                                                            {"route", route},
                                                            {"min_elements", "1"}}});
        std::vector<float> gradient(kElements), update(kElements);
        for (std::size_t i = 0; i < kElements; ++i) {
          // The ranks of a host cancel each other out but for 50 entries; those differ by host.
          const auto host = static_cast<std::size_t>(engine.rank() / 2);
          const std::size_t first = 1000 * host;
          const bool stays = i >= first && i < first + 50;
          gradient[i] = stays ? 1.0f : (engine.rank() % 2 == 0 ? 100.0f : -100.0f);
        }
        engine.Wait(engine.Barrier());
        before = job.crossed();
        engine.Wait(engine.Barrier());
        group->BeginStep({});
        group->Submit(0, {gradient.data(), DType::kFloat32, shape},
                      {update.data(), DType::kFloat32, shape});
        group->EndStep();
        group->WaitStep();
        engine.Wait(engine.Barrier());
        if (engine.rank() == 0) crossed = job.crossed() - before;
        if (mean != nullptr && engine.rank() == 3) *mean = update;
      },
      {});
  return crossed;
}

TEST(HierarchicalExchanges, CompressedGradientsOfAHostAreAveragedAndCrossOnce) {
  std::vector<float> mean;
  const std::size_t by_host = CrossedByAStep("hierarchical", &mean);
  const std::size_t flat = CrossedByAStep("allgather");
  // 100 entries of 4 bytes and their indices; negotiation has a share in both.
  EXPECT_GT(flat, 8 * 400U);
  EXPECT_GT(by_host, 2 * 400U);
  EXPECT_LT(by_host, flat / 3);
  for (std::size_t i = 0; i < kElements; ++i) {
    // Of each host's average half is there, and the other one has no part in it.
    const bool stays = i < 50 || (i >= 1000 && i < 1050);
    EXPECT_EQ(mean[i], stays ? 0.5f : 0.0f) << i;
  }
}

TEST(HierarchicalExchanges, ReplicasOfACompressedTrainingStayEqualInAllTheirBits) {
  Options dgc = DgcOptions("nesterov", 6);
  dgc["route"] = "hierarchical";
  Options gated = dgc;
  gated["skip_nonfinite"] = "true";
  const Options onebit = {{"compressor", "onebit"},
                          {"ef", "vanilla"},
                          {"route", "hierarchical"},
                          {"min_elements", "100"}};
  for (const Options& compression : {dgc, gated, onebit}) {
    JobOnHosts job(6, 2);
    std::vector<std::uint64_t> hashes(6);
    job.Run(
        [&](Engine& engine) {
          Training training(engine, compression);
          training.Steps(12);
          hashes[static_cast<std::size_t>(engine.rank())] = training.Hash();
        },
        {});
    EXPECT_THAT(hashes, Each(hashes.front()));
  }
}

TEST(HierarchicalExchanges, WhatIsNotSentIsKeptByTheFirstRankOfAHost) {
  JobOnHosts job(4, 2);
  std::array<double, 4> kept{};
  job.Run(
      [&](Engine& engine) {
        const Options dgc = {{"compressor", "dgc"}, {"density", "0.01"}, {"route", "hierarchical"}};
        Training training(engine, dgc);
        training.Steps(3);
        std::ostringstream out;
        training.group().Save(out);
        const std::string bytes = out.str();
        for (const SavedArray& array : Deserialize(std::as_bytes(std::span(bytes))).arrays) {
          if (array.name != "velocity") continue;
          for (const float value : array.values) {
            kept[static_cast<std::size_t>(engine.rank())] += std::abs(static_cast<double>(value));
          }
        }
      },
      {});
  EXPECT_GT(kept[0], 0.0);
  EXPECT_EQ(kept[1], 0.0);
  EXPECT_GT(kept[2], 0.0);
  EXPECT_EQ(kept[3], 0.0);
}

TEST(HierarchicalExchanges, TheFirstRankOfAHostCompressesForItAfterItHasJoinedToo) {
  JobOnHosts job(4, 2);
  std::array<std::uint64_t, 4> before{}, after{};
  job.Run(
      [&](Engine& engine) {
        Options dgc = DgcOptions("nesterov", 4);
        dgc["route"] = "hierarchical";
        Training training(engine, dgc);
        training.Steps(6);
        const auto rank = static_cast<std::size_t>(engine.rank());
        before[rank] = training.Hash();
        if (rank == 1 || rank == 2) training.Steps(5);
        after[rank] = training.Hash();
        engine.Join();
      },
      {});
  EXPECT_THAT(before, Each(before[0]));
  EXPECT_EQ(after[1], after[2]);
  EXPECT_NE(after[1], before[1]);
  EXPECT_EQ(after[0], before[0]);
}

TEST(HierarchicalExchanges, CompressedOnesNeedHostsThatAreAlike) {
  Settings strict;
  strict.strict = true;
  JobOnHosts job(3, 2);
  job.Run(
      [](Engine& engine) {
        const Options dgc = {{"compressor", "dgc"}, {"density", "0.01"}, {"route", "hierarchical"}};
        Training training(engine, dgc, "by_host");
        EXPECT_THAT(TextOf<InvalidArgument>([&] { training.Steps(5); }),
                    HasSubstr("would not travel by route=hierarchical in step 0: that takes two "
                              "hosts or more with the same number of ranks on each"));
      },
      strict);
  job.Run(
      [](Engine& engine) {
        Options dgc = DgcOptions("vanilla", 2);
        dgc.insert({{"route", "hierarchical"}, {"clip_norm", "1"}});
        EXPECT_THAT(TextOf<InvalidArgument>([&] { Training(engine, dgc, "clipped"); }),
                    HasSubstr("with route=hierarchical a host's ranks compress together"));
      },
      {});
}

TEST(HierarchicalExchanges, ASetIsHierarchicalWhereItsOwnRanksAreAlike) {
  JobOnHosts job(6, 2);
  std::atomic<std::size_t> before = 0;
  const auto crossed_by = [&](Engine& engine, const std::vector<int>& ranks) {
    const int set = engine.AddProcessSet(ranks);
    engine.Wait(engine.Barrier());
    before = job.crossed();
    engine.Wait(engine.Barrier());
    const bool is_member = std::ranges::find(ranks, engine.rank()) != ranks.end();
    float expected = 0;
    for (const int rank : ranks) expected += static_cast<float>(1 << rank);
    if (is_member) {
      EXPECT_THAT(Sum(engine, "x", set), Each(expected));
    }
    engine.Wait(engine.Barrier());
    return job.crossed() - before;
  };
  job.Run([&](Engine& engine) {
    EXPECT_LT(crossed_by(engine, {0, 1, 4, 5}), 2 * kBytes + 16384);
    // Flat: parts of a third, to two others, twice; ranks 0 and 1 are no strangers to each other.
    EXPECT_GT(crossed_by(engine, {0, 1, 2}), 8 * kBytes / 3);
    EXPECT_GT(crossed_by(engine, {0, 2, 4}), 4 * kBytes);  // One on each host.
  });
}

TEST(HierarchicalExchanges, GoOnWithoutARankThatHasJoined) {
  JobOnHosts job(4, 2);
  job.Run([](Engine& engine) {
    if (engine.rank() != 3) {
      EXPECT_THAT(Sum(engine, "x"), Each(7.0f));
    }
    EXPECT_NE(engine.Join(), 3);
    EXPECT_THAT(Sum(engine, "y"), Each(15.0f));
  });
}

TEST(HierarchicalExchanges, AreFlatWhereHostsAreNotAlike) {
  JobOnHosts job(3, 2);
  job.Run([](Engine& engine) { EXPECT_THAT(Sum(engine, "x"), Each(7.0f)); });
  Settings strict = Hierarchical();
  strict.strict = true;
  EXPECT_THAT(
      TextOf<InvalidArgument>([&] { JobOnHosts(3, 2).Run([](Engine&) {}, strict); }),
      AllOf(HasSubstr("strict settings (--strict, WEIR_STRICT)"), HasSubstr("2 and 1 on 2 hosts")));
}

TEST(HierarchicalExchanges, StrictModeHasNothingAgainstHostsThatAreAlike) {
  Settings strict = Hierarchical();
  strict.strict = true;
  for (const int ranks_per_host : {1, 2, 4}) {
    JobOnHosts(4, ranks_per_host)
        .Run([](Engine& engine) { EXPECT_THAT(Sum(engine, "x"), Each(15.0f)); }, strict);
  }
}

TEST(HierarchicalExchanges, ARankThatIsToldOfNeitherIsWaitedForNoLongerThanTheStartMayTake) {
  JobOnHosts job(2, 1);
  std::jthread other([&] {
    EngineImpl engine({}, job.job().Environment(1));
    EXPECT_THAT(TextOf<TimedOut>([&] { Sum(engine, "x"); }), HasSubstr("WEIR_START_TIMEOUT"));
  });
  Settings settings = Hierarchical();
  settings.start_timeout_seconds = 0.2;
  EXPECT_THAT(TextOf<TimedOut>([&] { EngineImpl(settings, job.job().Environment(0)); }),
              AllOf(HasSubstr("passed its deadline of 0.2 s (WEIR_START_TIMEOUT)"),
                    HasSubstr("'weir:hosts for WEIR_HIERARCHICAL_*'")));
}

TEST(HierarchicalExchanges, ADeterministicJobSumsFlat) {
  Settings settings = Hierarchical();
  settings.deterministic = true;
  JobOnHosts job(4, 2);
  job.Run([](Engine& engine) { EXPECT_THAT(Sum(engine, "x"), Each(15.0f)); }, settings);
  EXPECT_GT(job.crossed(), 4 * kBytes);
}

TEST(HierarchicalExchanges, RanksThatAreToldDifferentlySaySo) {
  JobOnHosts job(4, 2);
  std::vector<std::jthread> ranks;
  for (int rank = 0; rank < 4; ++rank) {
    ranks.emplace_back([&, rank] {
      Settings settings = Hierarchical();
      settings.hierarchical_allgather = rank != 2;
      EXPECT_THAT(TextOf<Mismatch>([&] { EngineImpl(settings, job.job().Environment(rank)); }),
                  AllOf(HasSubstr("Mismatched settings: the settings differ"),
                        HasSubstr("rank 0 has WEIR_HIERARCHICAL_ALLGATHER=1, rank 2 has "
                                  "WEIR_HIERARCHICAL_ALLGATHER=0")));
    });
  }
}

}  // namespace
}  // namespace weir
