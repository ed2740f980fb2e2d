// Answers to readers that follow a run over HTTP: queries, waiting, blocks, events.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <future>
#include <latch>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "metrics/http/long_poll.h"
#include "metrics/http/query.h"
#include "metrics/monitor.h"
#include "metrics/pages/events_page.h"
#include "metrics/run_log/live_log.h"
#include "tests/metrics/http/http_get.h"
#include "weir/error.h"

namespace weir {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr milliseconds kLong{10'000};

TEST(Query, ValuesAreFoundByTheirWholeKey) {
  EXPECT_EQ(QueryValue("after=12&wait=3", "after"), "12");
  EXPECT_EQ(QueryValue("after=12&wait=3", "wait"), "3");
  EXPECT_EQ(QueryValue("after=12", "aft"), "");
  EXPECT_EQ(QueryValue("xafter=12", "after"), "");
  EXPECT_EQ(QueryValue("", "after"), "");
  EXPECT_EQ(QueryValue("&&after=", "after"), "");
}

TEST(Query, NumbersOutsideTheirRangeAreRefused) {
  EXPECT_EQ(QueryNumber("wait=10", "wait", 1, 10), 10u);
  EXPECT_EQ(QueryNumber("", "wait", 1, 10), 1u);
  EXPECT_EQ(QueryNumber("after=18446744073709551615", "after", 0), UINT64_MAX);
  for (const char* wrong :
       {"wait=11", "wait=-1", "wait=1.5", "wait=x", "wait=18446744073709551616"}) {
    EXPECT_THAT([&] { QueryNumber(wrong, "wait", 1, 10); },
                ThrowsMessage<InvalidArgument>(HasSubstr("wait is a number from 0 to 10")))
        << wrong;
  }
}

TEST(LongPoll, WaitsForNewsAndNoLonger) {
  LongPoll poll;
  std::atomic<bool> news = false;
  std::promise<void> asked;
  auto waiter = std::async(std::launch::async, [&] {
    bool first = true;
    poll.Wait(kLong, [&] {
      if (std::exchange(first, false)) asked.set_value();
      return news.load();
    });
  });
  asked.get_future().wait();
  poll.Wake();  // Which is none for it.
  news = true;
  poll.Wake();
  EXPECT_EQ(waiter.wait_for(kLong), std::future_status::ready);
}

TEST(LongPoll, NobodyWaitsAfterTheEnd) {
  LongPoll poll;
  std::promise<void> asked;
  auto waiter = std::async(std::launch::async, [&] {
    bool first = true;
    poll.Wait(kLong, [&] {
      if (std::exchange(first, false)) asked.set_value();
      return false;
    });
  });
  asked.get_future().wait();
  poll.Close();
  EXPECT_EQ(waiter.wait_for(kLong), std::future_status::ready);
  const auto begin = std::chrono::steady_clock::now();
  poll.Wait(kLong, [] { return false; });
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kLong / 2);
}

/// As many as may wait, once they do. They wait until the poll is closed.
std::vector<std::future<void>> FillPlaces(LongPoll& poll) {
  const auto asked = std::make_shared<std::latch>(LongPoll::kMostWaiting);
  std::vector<std::future<void>> waiters(LongPoll::kMostWaiting);
  for (auto& waiter : waiters) {
    waiter = std::async(std::launch::async, [&poll, asked] {
      bool first = true;
      poll.Wait(kLong, [&] {
        if (std::exchange(first, false)) asked->count_down();
        return false;
      });
    });
  }
  asked->wait();
  return waiters;
}

TEST(LongPoll, MoreThanAFewAreAnsweredAtOnce) {
  LongPoll poll;
  const auto waiters = FillPlaces(poll);
  const auto begin = std::chrono::steady_clock::now();
  poll.Wait(kLong, [] { return false; });
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kLong / 2);
  poll.Close();
}

LogBlock Made(std::uint64_t number, LogBlock::Level level, std::size_t bytes = 8) {
  return {.level = level, .number = number, .bytes = std::string(bytes, static_cast<char>(number))};
}

/// The numbers of the blocks in an answer, each of which is as many bytes of its number, and 0 for
/// a gap at its end.
std::vector<int> NumbersIn(const std::string& answer) {
  std::vector<int> numbers;
  const std::size_t gap = answer.find("WLOG");
  for (const char byte : answer.substr(0, gap)) {
    if (numbers.empty() || numbers.back() != byte) numbers.push_back(byte);
  }
  if (gap != std::string::npos) numbers.push_back(0);
  return numbers;
}

constexpr auto kLasting = LogBlock::Level::kLasting;
constexpr auto kChange = LogBlock::Level::kChange;
constexpr auto kOverview = LogBlock::Level::kOverview;
constexpr auto kDetail = LogBlock::Level::kDetail;

TEST(LiveLog, AnswersWithWhatComesAfterANumberInOrder) {
  LongPoll poll;
  LiveLog log(3, "ab12", poll);
  log.Add({Made(1, kLasting), Made(2, kDetail), Made(3, kOverview), Made(4, kDetail)});
  EXPECT_THAT(NumbersIn(log.Answer("")), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(NumbersIn(log.Answer("after=2")), ElementsAre(3, 4));
  EXPECT_EQ(log.Answer("after=4"), "");
  EXPECT_THAT(NumbersIn(log.Answer("after=900")), ElementsAre(1, 2, 3, 4))
      << "the number of a job before this one";
  EXPECT_THAT(NumbersIn(log.Answer("after=2&job=ab12")), ElementsAre(3, 4));
  EXPECT_THAT(NumbersIn(log.Answer("after=2&job=ab11")), ElementsAre(1, 2, 3, 4)) << "also one";
}

TEST(LiveLog, DetailIsDroppedFirstAndTheGapIsTold) {
  LongPoll poll;
  LiveLog log(3, "ab12", poll);
  log.Add({Made(1, kLasting), Made(2, kDetail, LiveLog::kDetailBytes / 2), Made(3, kOverview),
           Made(4, kDetail, LiveLog::kDetailBytes / 2), Made(5, kDetail)});
  const std::string answer = log.Answer("");
  EXPECT_THAT(NumbersIn(answer), ElementsAre(1, 3, 0));
  EXPECT_THAT(answer, HasSubstr(R"("blocks":1)"));
  EXPECT_THAT(answer, HasSubstr(R"("rank":3)"));
  EXPECT_THAT(NumbersIn(log.Answer("after=3")), ElementsAre(4)) << "one large block an answer";
  EXPECT_THAT(NumbersIn(log.Answer("after=4")), ElementsAre(5)) << "and nothing is told twice";
}

TEST(LiveLog, WhatHoldsUntilItChangesOutlivesTheOverview) {
  LongPoll poll;
  LiveLog log(3, "ab12", poll);
  log.Add({Made(1, kChange), Made(2, kOverview), Made(3, kOverview, LiveLog::kOverviewBytes)});
  EXPECT_THAT(NumbersIn(log.Answer("")), ElementsAre(1));
  EXPECT_THAT(NumbersIn(log.Answer("after=1")), ElementsAre(3, 0));
  log.Add({Made(4, kChange, LiveLog::kChangeBytes)});
  EXPECT_THAT(NumbersIn(log.Answer("after=3")), ElementsAre(4)) << "and is bounded";
  EXPECT_THAT(NumbersIn(log.Answer("")), ElementsAre(3, 0));
}

// Whoever reads events waits in a place that one who reads the log could have.
TEST(LiveLog, ItsReadersAndThoseOfEventsShareThePlacesToWait) {
  const Recorder recorder(16);
  const BucketNames names;
  LongPoll poll;
  LiveLog log(0, "", poll);
  EventsPage page("", recorder, names, poll);
  const auto waiters = FillPlaces(poll);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(log.Answer("wait=10"), "");
  page.Answer("wait=10");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kLong / 2);
  poll.Close();
}

TEST(LiveLog, AReaderWaitsForTheNextBlock) {
  LongPoll poll;
  LiveLog log(0, "ab12", poll);
  log.Add({Made(1, kLasting)});
  auto reader = std::async(std::launch::async, [&] { return log.Answer("after=1&wait=10"); });
  log.Add({Made(2, kOverview)});
  EXPECT_THAT(NumbersIn(reader.get()), ElementsAre(2));
}

TEST(EventsPage, HasALineForEveryRecordBehindANumber) {
  Recorder recorder(16);
  BucketNames names;
  names.Add({.name = "conv \"1\"", .routes = {{"allgather", "gather"}}, .compressor = "dgc"});
  LongPoll poll;
  EventsPage page("ab12", recorder, names, poll);
  recorder.Add({.start_ns = 5, .end_ns = 9, .step = 2, .bytes_in = 7, .stage = Stage::kExchange});
  recorder.Add({.step = 2, .stage = Stage::kStep});
  const auto lines = [&](const char* query) {
    std::vector<json> parsed;
    std::istringstream text(page.Answer(query));
    for (std::string line; std::getline(text, line);) parsed.push_back(json::parse(line));
    return parsed;
  };
  const auto all = lines("");
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0], json({{"next", 2}, {"lost", 0}}));
  EXPECT_EQ(all[1]["stage"], "exchange");
  EXPECT_EQ(all[1]["name"], "conv \"1\"");
  EXPECT_EQ(all[1]["route"], "gather");
  EXPECT_EQ(all[1]["bytes_in"], 7);
  EXPECT_EQ(all[2]["stage"], "step");
  EXPECT_FALSE(all[2].contains("name"));
  EXPECT_EQ(lines("after=1").size(), 2u);
  EXPECT_EQ(lines("after=2").size(), 1u);
  EXPECT_EQ(lines("after=9").size(), 3u) << "the number of a job before this one";
  EXPECT_EQ(lines("after=1&job=ab11").size(), 3u) << "also one";
  for (int i = 0; i < 20; ++i) recorder.Add({.step = i, .stage = Stage::kStep});
  EXPECT_EQ(lines("after=1")[0]["lost"], 5) << "22 records, of which 16 are kept";
}

TEST(Following, AMonitorServesItsBlocksAndEvents) {
  Recorder recorder;
  BucketNames names;
  EngineGauges gauges;
  names.Add({.name = "conv", .elements = 4});
  Settings settings;
  settings.metrics_port = HttpServer({}, {}).port();
  Monitor monitor(settings, {.rank = 0, .size = 1, .clock = JobClock{.began_ns = 7}}, recorder,
                  names, gauges);
  EXPECT_THAT(HttpGet(monitor.port(), "/log?after=0&wait=10").body, HasSubstr(R"("kind":"run")"));
  recorder.Add({.step = 0, .bytes_in = 16, .bucket = 0, .stage = Stage::kGradient});
  recorder.Add({.step = 0, .stage = Stage::kStep});
  std::string log;
  for (std::uint64_t after = 1; log.find(R"("kind":"steps")") == std::string::npos; ++after) {
    log += HttpGet(monitor.port(), "/log?wait=10&after=" + std::to_string(after)).body;
  }
  EXPECT_THAT(log, HasSubstr(R"("kind":"gradients")"));
  const HttpReply events = HttpGet(monitor.port(), "/events?after=0&wait=10");
  EXPECT_THAT(events.headers, HasSubstr("application/x-ndjson"));
  EXPECT_THAT(events.body, HasSubstr(R"("stage":"gradient")"));
  const HttpReply of_another = HttpGet(monitor.port(), "/log?after=1&job=0");
  EXPECT_THAT(of_another.body, HasSubstr(R"("kind":"run")"));
  const HttpReply refused = HttpGet(monitor.port(), "/log?after=x");
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.body, HasSubstr("after is a number"));
}

TEST(Following, WhoWaitsHearsTheLastStepAndTheEnd) {
  Recorder recorder;
  const BucketNames names;
  const EngineGauges gauges;
  Settings settings;
  settings.metrics_port = HttpServer({}, {}).port();
  auto monitor =
      std::make_unique<Monitor>(settings, RunInfo{.rank = 0, .size = 1}, recorder, names, gauges);
  const int port = monitor->port();
  std::latch has_asked(1);
  auto follower = std::async(std::launch::async, [&] {
    std::string log = HttpGet(port, "/log?after=0").body;
    has_asked.count_down();
    // An answer may have several blocks, so they may come more than once.
    for (std::uint64_t after = 0; log.find(R"("kind":"end")") == std::string::npos; ++after) {
      log += HttpGet(port, "/log?wait=10&after=" + std::to_string(after)).body;
    }
    return log;
  });
  has_asked.wait();
  recorder.Add({.step = 41, .stage = Stage::kStep});
  monitor->End("the disk is full");
  monitor.reset();
  const std::string log = follower.get();
  EXPECT_THAT(log, HasSubstr(R"("kind":"steps")"));
  EXPECT_THAT(log, HasSubstr(R"("failure":"the disk is full")"));
}

/// Whether the end is known to have reached a follower that waits for it, and then asks again or
/// not.
bool EndIsHeard(bool asks_again) {
  LongPoll poll;
  LiveLog log(0, "ab12", poll);
  log.Add({Made(1, kLasting)});
  auto follower = std::async(std::launch::async, [&] {
    EXPECT_THAT(NumbersIn(log.Answer("after=1&wait=10")), ElementsAre(2));
    if (asks_again) log.Answer("after=2");
  });
  while (log.waiting() == 0) std::this_thread::yield();
  const bool is_heard = log.End({Made(2, kLasting)});
  follower.wait();
  return is_heard;
}

TEST(LiveLog, ItsEndIsHeardOnceWhoWaitedForItAsksAgain) {
  EXPECT_TRUE(EndIsHeard(true));
  EXPECT_FALSE(EndIsHeard(false));
}

TEST(LiveLog, ItsEndWaitsForNobodyWhereNobodyFollows) {
  milliseconds least = kLong;
  for (int i = 0; i < 5; ++i) {  // A busy machine is not busy for ever.
    LongPoll poll;
    LiveLog log(0, "ab12", poll);
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_TRUE(log.End({Made(1, kLasting)}));
    least = std::min(
        least, std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begin));
  }
  EXPECT_LT(least, milliseconds(100));
}

}  // namespace
}  // namespace weir
