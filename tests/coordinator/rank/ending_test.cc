#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "coordinator/engine/engine_impl.h"
#include "coordinator/engine/local_job.h"
#include "metrics/http/http_server.h"
#include "tests/coordinator/jobs/engine_calls.h"
#include "weir/engine.h"

namespace weir {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Ending, ARankThatNeverSubmitsEndsTheJobWithItsNameOnEveryRank) {
  Settings settings;
  settings.stall_warning_seconds = 0.2;
  settings.stall_shutdown_seconds = 1.0;
  LocalJob job(3);
  testing::internal::CaptureStderr();
  job.Run(
      [&](Engine& engine) {
        std::vector<float> values(4, 1.0f);
        engine.Wait(Reduce(engine, "common", values));
        const std::string error = ErrorOf([&] {
          // Rank 2 has something else to wait for, which never comes either.
          const char* name = engine.rank() == 2 ? "only rank 2" : "forgotten";
          engine.Wait(Reduce(engine, name, values));
        });
        EXPECT_THAT(error, HasSubstr("TimedOut"));
        EXPECT_THAT(error, HasSubstr("tensor 'forgotten' was submitted by ranks [0, 1]"));
        EXPECT_THAT(error, HasSubstr("but not by ranks [2]"));
        EXPECT_THAT(error, HasSubstr("rank 2 last finished 'common'"));
        std::uint64_t stalled = 0;
        EXPECT_THAT(dynamic_cast<EngineImpl&>(engine).gauges().stalled_names(stalled),
                    ElementsAre(engine.rank() == 2 ? "only rank 2" : "forgotten"));
        EXPECT_EQ(stalled, 1U);
      },
      settings);
  // Long before the end, a warning said the same.
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("warning: stalled: tensor 'forgotten' was submitted by ranks [0, 1]"));
}

TEST(Ending, AJobThatCannotBeJoinedSaysWhy) {
  for (const PipelineMode mode : {PipelineMode::kSerial, PipelineMode::kThread}) {
    Settings settings;
    settings.pipeline = mode;
    LocalJob job(1, [](int, std::unique_ptr<Transport>) -> std::unique_ptr<Transport> {
      throw InvalidArgument("there is no network");
    });
    EXPECT_THAT([&] { job.Run([](Engine&) { ADD_FAILURE() << "joined"; }, settings); },
                testing::ThrowsMessage<InvalidArgument>(HasSubstr("there is no network")));
  }
}

TEST(Ending, ARankThatGivesUpJoiningTellsTheOthersWhy) {
  LocalJob job(2, [](int rank, std::unique_ptr<Transport> transport) {
    if (rank == 1) throw TimedOut("not all ranks joined the job");
    return transport;
  });
  std::string heard;
  EXPECT_THROW(job.Run([&](Engine& engine) {
    std::vector<float> values(4, 1.0f);
    heard = ErrorOf([&] { engine.Wait(Reduce(engine, "x", values)); });
  }),
               TimedOut);
  EXPECT_EQ(heard, "TimedOut: not all ranks joined the job");
}

TEST(Ending, ADeadRankIsNamedOnEverySurvivor) {
  LocalJob job(3);
  job.Run([&](Engine& engine) {
    std::vector<float> values(4, 1.0f);
    if (engine.rank() == 1) {
      engine.Wait(Reduce(engine, "common", values));
      job.hub().Kill(1);
      engine.Abort("the test is over for the dead rank");
      return;
    }
    // The news may come while the end of "common" is still on its way here.
    const std::string error = ErrorOf([&] {
      engine.Wait(Reduce(engine, "common", values));
      engine.Wait(Reduce(engine, "next", values));
    });
    EXPECT_THAT(error, HasSubstr("PeerLost: rank 1"));
    EXPECT_THAT(error, HasSubstr("signal 9"));
    EXPECT_THAT(ErrorOf([&] { Reduce(engine, "after", values); }), HasSubstr("PeerLost"));
  });
}

TEST(Ending, AnAbortReachesEveryRankWithItsReason) {
  LocalJob job(3);
  job.Run([&](Engine& engine) {
    std::vector<float> values(4, 1.0f);
    if (engine.rank() == 2) {
      engine.Wait(Reduce(engine, "common", values));
      engine.Abort("the disk is full");
      EXPECT_THAT(ErrorOf([&] { engine.Wait(Reduce(engine, "next", values)); }),
                  HasSubstr("the disk is full"));
      return;
    }
    // The news may come while the end of "common" is still on its way here.
    EXPECT_THAT(ErrorOf([&] {
                  engine.Wait(Reduce(engine, "common", values));
                  engine.Wait(Reduce(engine, "next", values));
                }),
                HasSubstr("ended the job: the disk is full"));
  });
}

TEST(Ending, ARankThatFailsAfterAnotherHasReturnedEndsTheJob) {
  const auto message = ErrorOf([] {
    std::promise<void> returned;
    RunLocal(2, [&](Engine& engine) {
      engine.Wait(engine.Barrier());
      if (engine.rank() == 0) return returned.set_value();
      returned.get_future().wait();
      throw InvalidArgument("this rank has failed");
    });
  });
  EXPECT_EQ(message, "InvalidArgument: this rank has failed");
}

TEST(Ending, AnEngineThatCannotBeMadeIsAnErrorOfRunLocal) {
  Settings settings;
  settings.timeline_filename = "/no such folder/timeline.json";
  EXPECT_THAT(ErrorOf([&] {
                RunLocal(
                    1, [](Engine&) {}, settings);
              }),
              HasSubstr("no such folder"));
}

TEST(Ending, ARankWhoseMetricsCannotBeServedTellsTheOthersWhy) {
  LocalJob job(2);
  Settings of_rank_1;
  const HttpServer taken({}, {});
  of_rank_1.metrics_port = taken.port() - 1;  // Local rank 1 serves on the next one.
  std::jthread rank_1([&] {
    EXPECT_THAT(ErrorOf([&] { EngineImpl(of_rank_1, job.Environment(1)); }),
                HasSubstr("cannot serve its metrics"));
  });
  EngineImpl engine({}, job.Environment(0));
  std::vector<float> values(4, 1.0f);
  EXPECT_THAT(ErrorOf([&] { engine.Wait(Reduce(engine, "first", values)); }),
              AllOf(HasSubstr("PeerLost: rank 1"), HasSubstr("cannot serve its metrics")));
}

TEST(Ending, AWaitThatPassesItsDeadlineEndsTheJobOnAllRanks) {
  Settings settings;
  settings.timeout_seconds = 0.1;
  LocalJob job(2);
  std::promise<void> rank_0_ended;
  std::shared_future<void> ended(rank_0_ended.get_future());
  job.Run(
      [&](Engine& engine) {
        std::vector<float> values(4, 1.0f);
        if (engine.rank() == 0) {
          EXPECT_THAT(ErrorOf([&] { engine.Wait(Reduce(engine, "alone", values)); }),
                      AllOf(HasSubstr("TimedOut: a wait of rank 0 passed its deadline of 0.1 s"),
                            HasSubstr("(phase negotiate of 'alone')")));
          rank_0_ended.set_value();
          return;
        }
        ended.wait();
        // The news may still be on its way: the operation then ends with it.
        EXPECT_THAT(ErrorOf([&] { engine.Wait(Reduce(engine, "late", values)); }),
                    HasSubstr("TimedOut"));
      },
      settings);
}

TEST(Ending, AGroupThatGoesInTheMiddleOfAStepIsNotMistakenForZeros) {
  LocalJob job(2);
  job.Run([&](Engine& engine) {
    std::vector<float> values(4, 1.0f);
    const TensorView view = ViewOf(std::span<float>(values));
    const std::string error = ErrorOf([&] {
      const auto group =
          engine.Register({.name = "g", .tensors = {{.name = "a", .shape = Shape{4}}}});
      group->BeginStep({});
      if (engine.rank() == 0) return;
      group->Submit(0, view, view);
      group->EndStep();
      group->WaitStep();
    });
    // Rank 1 learns it wherever it is by then.
    EXPECT_THAT(error, HasSubstr(engine.rank() == 0 ? "no error" : "in the middle of step 0"));
  });
}

}  // namespace
}  // namespace weir
