// Gradients that a host's ranks average before they are compressed (route=hierarchical). Hosts are
// made up; bytes between them are counted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cmath>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "compression/state/state.h"
#include "tests/coordinator/jobs/job_on_hosts.h"
#include "tests/coordinator/jobs/text_of.h"
#include "tests/coordinator/jobs/training.h"
#include "weir/error.h"

namespace weir::compressed_by_host_test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::Gt;
using testing::HasSubstr;

constexpr std::size_t kElements = 12000;

Options Dgc(const std::string& route) {
  return {{"compressor", "dgc"}, {"density", "0.01"}, {"route", route}};
}

/// Bytes that one step sends between hosts, for a matrix whose frames have so many bytes at most.
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

TEST(CompressedByHost, GradientsOfAHostAreAveragedAndCrossOnce) {
  std::vector<float> mean;
  const std::size_t by_host = CrossedByAStep("hierarchical", &mean);
  const std::size_t flat = CrossedByAStep("allgather");
  // 100 entries of 4 bytes and their indices; negotiation has a share in both.
  EXPECT_GT(flat, 8 * 400U);
  EXPECT_GT(by_host, 2 * 400U);
  EXPECT_LT(by_host, flat / 3);
  for (std::size_t i = 0; i < kElements; ++i) {
    // Each host's average contributes half; the other half is absent.
    const bool stays = i < 50 || (i >= 1000 && i < 1050);
    EXPECT_EQ(mean[i], stays ? 0.5f : 0.0f) << i;
  }
}

TEST(CompressedByHost, ReplicasStayEqualInAllTheirBits) {
  Options dgc = DgcOptions("nesterov", 6);
  dgc["route"] = "hierarchical";
  Options gated = dgc;
  gated["skip_nonfinite"] = "true";
  const Options onebit = {{"compressor", "onebit"},
                          {"ef", "vanilla"},
                          {"route", "hierarchical"},
                          {"min_elements", "100"}};
  Options together = dgc;
  together["selection"] = "bucket";
  for (const Options& compression : {dgc, gated, together, onebit}) {
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

/// How much each rank has not sent yet, in magnitude, after so many steps of DGC.
std::vector<double> Kept(int ranks, const Options& options, int steps) {
  JobOnHosts job(ranks, 2);
  std::vector<double> kept(static_cast<std::size_t>(ranks));
  job.Run(
      [&](Engine& engine) {
        Training training(engine, options);
        training.Steps(steps);
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
  return kept;
}

TEST(CompressedByHost, WhatIsNotSentIsKeptByTheFirstRankOfAHost) {
  const Options dgc = Dgc("hierarchical");
  EXPECT_THAT(Kept(4, dgc, 3), ElementsAre(Gt(0.0), 0.0, Gt(0.0), 0.0));
}

// Among four hosts the warm-up's frames carry more than dense arrays would.
TEST(CompressedByHost, NorDoesAWarmUpLeaveAnythingOnTheOthers) {
  Options warm_up = DgcOptions("vanilla", 20);
  warm_up["route"] = "hierarchical";
  EXPECT_THAT(Kept(8, warm_up, 10),
              ElementsAre(Gt(0.0), 0.0, Gt(0.0), 0.0, Gt(0.0), 0.0, Gt(0.0), 0.0));
}

/// Returns the saved states after a few steps.
std::vector<std::string> Saved(int ranks, int ranks_per_host, const Options& options) {
  std::vector<std::string> saved(static_cast<std::size_t>(ranks));
  JobOnHosts(ranks, ranks_per_host)
      .Run(
          [&](Engine& engine) {
            Training training(engine, options);
            training.Steps(3);
            std::ostringstream out;
            training.group().Save(out);
            saved[static_cast<std::size_t>(engine.rank())] = out.str();
          },
          {});
  return saved;
}

/// Why every rank of a job refuses it: its own file, or all of them where the ranks are others.
std::string WhyNotLoaded(const std::vector<std::string>& saved, int ranks, int ranks_per_host,
                         const Options& options) {
  std::vector<std::string> why(static_cast<std::size_t>(ranks));
  JobOnHosts(ranks, ranks_per_host)
      .Run(
          [&](Engine& engine) {
            const auto rank = static_cast<std::size_t>(engine.rank());
            std::vector<std::istringstream> files;
            for (std::size_t i = 0; i < saved.size(); ++i)
              if (saved.size() != why.size() || i == rank) files.emplace_back(saved[i]);
            std::vector<std::istream*> streams;
            for (std::istringstream& file : files) streams.push_back(&file);
            Training training(engine, options);
            try {
              training.group().Load(streams);
              why[rank] = "loaded";
            } catch (const InvalidArgument& error) {
              why[rank] = error.what();
            }
          },
          {});
  EXPECT_THAT(why, Each(why.front()));
  return why.front();
}

// With others compressing, a part of what was kept would never be sent, or be sent too strongly.
TEST(CompressedByHost, WhatWasKeptIsLoadedWhereTheSameRanksKeepIt) {
  const auto by_host = Saved(8, 2, Dgc("hierarchical"));
  EXPECT_EQ(WhyNotLoaded(by_host, 8, 2, Dgc("hierarchical")), "loaded");
  EXPECT_THAT(WhyNotLoaded(by_host, 8, 4, Dgc("hierarchical")),
              testing::AllOf(HasSubstr("kept by the first rank of each of 4 hosts"),
                             HasSubstr("would be kept by the first rank of each of 2 hosts")));
  EXPECT_THAT(WhyNotLoaded(by_host, 4, 2, Dgc("hierarchical")), HasSubstr("as many ranks"));
  EXPECT_THAT(WhyNotLoaded(by_host, 8, 8, Dgc("hierarchical")), HasSubstr("by every rank"));
  EXPECT_THAT(WhyNotLoaded(by_host, 8, 2, Dgc("allgather")), HasSubstr("by every rank"));
  EXPECT_THAT(WhyNotLoaded(Saved(8, 2, Dgc("allgather")), 8, 2, Dgc("hierarchical")),
              HasSubstr("kept by every rank"));
}

// Each asks where the ranks are; on every rank in an order of its own.
TEST(CompressedByHost, GroupsMayBeRegisteredSideBySide) {
  JobOnHosts job(4, 2);
  job.Run(
      [&](Engine& engine) {
        const Options dgc = Dgc("hierarchical");
        std::vector<std::unique_ptr<Training>> trainings(4);
        {
          std::vector<std::jthread> threads;
          for (std::size_t g = 0; g < trainings.size(); ++g) {
            threads.emplace_back([&, g] {
              trainings[g] = std::make_unique<Training>(engine, dgc, "g" + std::to_string(g));
            });
          }
        }
        for (const auto& training : trainings) training->Steps(2);
      },
      {});
}

TEST(CompressedByHost, TheFirstRankOfAHostCompressesForItAfterItHasJoinedToo) {
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

TEST(CompressedByHost, NeedsHostsThatAreAlike) {
  Settings strict;
  strict.strict = true;
  JobOnHosts job(3, 2);
  job.Run(
      [](Engine& engine) {
        const Options dgc = Dgc("hierarchical");
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

}  // namespace
}  // namespace weir::compressed_by_host_test
