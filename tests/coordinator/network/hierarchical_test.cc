// Jobs whose exchanges go host by host. Hosts are made up; bytes between them are counted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "coordinator/work/hosts.h"
#include "tests/coordinator/jobs/job_on_hosts.h"
#include "tests/coordinator/jobs/result.h"
#include "tests/coordinator/jobs/text_of.h"
#include "tests/coordinator/jobs/training.h"
#include "weir/error.h"

namespace weir::hierarchical_test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::size_t kElements = 12000;
constexpr std::size_t kBytes = kElements * sizeof(float);

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

/// Bytes between hosts in two runs of the same program, with and without the settings.
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
}  // namespace weir::hierarchical_test
