#include "coordinator/routes/route_choice.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compression/make_compressor.h"

namespace weir::route_choice_test {
namespace {

constexpr std::size_t kElements = 1 << 18;  // Enough to be worth compressing, for every compressor.

/// One matrix, and its compressor with the default options.
class Bucket {
 public:
  explicit Bucket(const std::string& compressor, double density = 0.01) {
    step_.density = density;
    step_.contexts.push_back({.density = density});
    compressor_ = MakeCompressor({{"compressor", compressor}}, {"w", Shape{512, kElements / 512}});
    std::vector<GradientSlice> slices(1);
    slices[0].name = "w";
    slices[0].elements = kElements;
    slices[0].Use(*compressor_);
    slices_ = std::make_unique<GradientSlices>("bucket", 0, std::move(slices), step_);
  }
  const GradientSlices& operator*() const { return *slices_; }

 private:
  GroupStep step_;
  std::unique_ptr<Compressor> compressor_;
  std::unique_ptr<GradientSlices> slices_;
};

RouteFacts Facts(WireRoute compressed = WireRoute::kSparseAllgather) {
  return {.settings = {.compressed = compressed}, .ranks = 4};
}

TEST(ChooseRoute, WhatIsNotCompressedIsAllReduced) {
  const Bucket bucket("dgc");
  RouteFacts facts = Facts();
  EXPECT_EQ(ChooseRoute(facts, *bucket), RouteKind::kGather);
  facts.dense_phase = true;
  EXPECT_EQ(ChooseRoute(facts, *bucket), RouteKind::kDense);
  facts = Facts();
  facts.plain = true;
  EXPECT_EQ(ChooseRoute(facts, *bucket), RouteKind::kDense);
}

TEST(ChooseRoute, ArraysOfHalvesAreSummedOnTheWay) {
  EXPECT_EQ(ChooseRoute(Facts(), *Bucket("fp16")), RouteKind::kArray);
}

TEST(ChooseRoute, FactorsHaveARouteOfTheirOwn) {
  EXPECT_EQ(ChooseRoute(Facts(), *Bucket("powersgd")), RouteKind::kFactors);
}

TEST(ChooseRoute, ThePolicyTakesTheMaskWhereGatheringCarriesMore) {
  RouteFacts facts = Facts();
  facts.ranks = 16;
  const Bucket dense("dgc", /*density=*/0.9);
  EXPECT_EQ(WantedWireRoute(facts, *dense), WireRoute::kDenseAllreduce);
  EXPECT_EQ(ChooseRoute(facts, *dense), RouteKind::kMasked);
  facts.settings.policy = RoutePolicy::kAlways;
  EXPECT_EQ(ChooseRoute(facts, *dense), RouteKind::kGather);
  facts.settings.policy = RoutePolicy::kNever;
  EXPECT_EQ(ChooseRoute(facts, *Bucket("dgc")), RouteKind::kMasked);
}

TEST(ChooseRoute, OnlyListsOfEntriesAreSplit) {
  const RouteFacts facts = Facts(WireRoute::kSplitAllgather);
  EXPECT_EQ(ChooseRoute(facts, *Bucket("dgc")), RouteKind::kSplit);
  EXPECT_EQ(ChooseRoute(facts, *Bucket("onebit")), RouteKind::kGather);
}

TEST(ChooseRoute, HostsAreAskedForAndHaveToBeThere) {
  RouteFacts facts = Facts(WireRoute::kHostAllgather);
  const Bucket bucket("dgc");
  EXPECT_EQ(ChooseRoute(facts, *bucket), RouteKind::kGather);
  facts.by_hosts = true;
  EXPECT_EQ(ChooseRoute(facts, *bucket), RouteKind::kHosts);
}

TEST(ChooseRoute, ServersAreRanksUnlessLinksLeadToThem) {
  RouteFacts facts = Facts(WireRoute::kPushPull);
  const Bucket bucket("onebit");
  EXPECT_EQ(ChooseRoute(facts, *bucket), RouteKind::kPushPull);
}

}  // namespace
}  // namespace weir::route_choice_test
