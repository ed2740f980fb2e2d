#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "launcher/job/elastic_job.h"

namespace weir::launcher {

/// A job of four processes on two hosts, whose clock and messages the test makes.
class ElasticJobTest : public testing::Test {
 protected:
  using Message = supervision::Message;
  using MessageType = supervision::MessageType;

  explicit ElasticJobTest(ElasticPolicy elastic = {.min_ranks = 2,
                                                   .max_ranks = 4,
                                                   .timeout = std::chrono::seconds(60)})
      : job_(
            {{"a", 2}, {"b", 2}}, {"a", "a", "b", "b"}, JobPolicy{}, elastic, now_,
            [this](int process, const Message& message) { sent_.emplace_back(process, message); },
            [this](const std::string& host, int count) { started_.emplace_back(host, count); },
            [this](const std::string& text) { said_.push_back(text); }) {}

  void Say(int process, MessageType type, int code = 0, const std::string& text = {}) {
    job_.OnMessage(process, {.type = type, .code = code, .text = text}, now_);
  }
  void StartAll() {
    for (int p = 0; p < 4; ++p) Say(p, MessageType::kHello);
    Meet({0, 1, 2, 3});
  }
  /// These come, are dealt places, and meet.
  void Meet(const std::vector<int>& processes) {
    for (const int p : processes) Say(p, MessageType::kAttach);
    for (const int p : processes) Say(p, MessageType::kJoined);
  }
  void Pass(std::chrono::milliseconds time) {
    now_ += time;
    job_.Tick(now_);
  }
  std::vector<int> Told(MessageType type) const {
    std::vector<int> processes;
    for (const auto& [process, message] : sent_) {
      if (message.type == type) processes.push_back(process);
    }
    return processes;
  }
  /// "rank of ranks on host: hosts", of the last place that the process was dealt.
  std::string PlaceOf(int process) const {
    std::string place = "none";
    for (const auto& [to, message] : sent_) {
      if (to == process && message.type == MessageType::kPlace) {
        place = std::to_string(message.rank) + " on " + message.host + " of " + message.text +
                " in epoch " + std::to_string(message.code);
      }
    }
    return place;
  }

  Time now_{};
  std::vector<std::pair<int, Message>> sent_;
  std::vector<std::pair<std::string, int>> started_;
  std::vector<std::string> said_;
  ElasticJob job_;
};

}  // namespace weir::launcher
