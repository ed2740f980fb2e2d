#include "coordinator/rank/rank_status.h"

#include <gtest/gtest.h>

#include <string>

namespace weir {
namespace {

TEST(RankStatus, ComesOutOfItsTextAsItWas) {
  RankStatus status;
  status.AddWaiting({0, "conv1"}, 0.5);
  status.AddWaiting({3, "loss"}, 60.0);
  status.last_finished = "bias";
  status.joined = {2, 5};
  status.is_answer = false;
  std::string trouble;
  const RankStatus read = ParseRankStatus(TextOf(status), trouble);
  EXPECT_EQ(trouble, "");
  EXPECT_EQ(read.waiting_seconds, status.waiting_seconds);
  EXPECT_EQ(read.last_finished, "bias");
  EXPECT_EQ(read.joined, status.joined);
  EXPECT_FALSE(read.is_answer);
}

TEST(RankStatus, WhatCannotBeReadIsSaid) {
  for (const char* text :
       {"", "[]", "{}", R"({"waiting": [[1e30, "x", 1]]})", R"({"waiting": [[0, "x"]]})",
        R"({"waiting": [], "joined": [1.5]})", R"({"waiting": [], "joined": 7.5})"}) {
    std::string trouble;
    ParseRankStatus(text, trouble);
    EXPECT_NE(trouble, "") << text;
  }
}

}  // namespace
}  // namespace weir
