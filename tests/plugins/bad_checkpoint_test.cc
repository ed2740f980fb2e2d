#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "tests/plugins/checkpoint.h"
#include "weir/engine.h"

namespace weir::bad_checkpoint_test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

OptimizerOptions Options() {
  OptimizerOptions options;
  options.momentum = 0.9f;
  options.weight_decay = 0.01f;
  options.compression = {{"compressor", "dgc"}, {"density", "0.1"}, {"min_elements", "0"}};
  return options;
}

/// A job of two ranks that has trained, which is offered files and must stay as it is.
class BadCheckpoint : public testing::Test {
 protected:
  template <typename ErrorType>
  void ExpectRefused(const std::vector<std::string>& files, const std::string& text) {
    RunLocal(2, [&](Engine& engine) {
      Model model;
      DistributedOptimizer optimizer(engine, model.Parameters(), Options());
      for (int step = 0; step < 2; ++step) TakeStep(optimizer, model, step, engine.rank());
      const std::string before = SaveOf(optimizer);
      EXPECT_THAT([&] { LoadFrom(optimizer, files); }, ThrowsMessage<ErrorType>(HasSubstr(text)));
      EXPECT_TRUE(SaveOf(optimizer) == before) << "a refused Load changed something";
      EXPECT_EQ(TakeStep(optimizer, model, 2, engine.rank()).step, 2);
    });
  }

  const Checkpoint good_ = Train(2, Options, 0, 5);
};

TEST_F(BadCheckpoint, AFileCutShortAnywhereIsCorrupt) {
  const std::string& whole = good_.files[0];
  RunLocal(1, [&](Engine& engine) {
    Model model;
    DistributedOptimizer optimizer(engine, model.Parameters(), Options());
    const std::string before = SaveOf(optimizer);
    for (std::size_t size = 0; size < whole.size(); size += size < 64 ? 1 : 37) {
      const std::vector<std::string> cut = {whole.substr(0, size)};
      EXPECT_THROW(LoadFrom(optimizer, cut), Corrupt) << size << " of " << whole.size();
    }
    EXPECT_TRUE(SaveOf(optimizer) == before) << "a refused Load changed something";
  });
}

TEST(CheckpointOnAFullDisk, IsAnErrorAndTrainingGoesOn) {
  RunLocal(2, [&](Engine& engine) {
    Model model;
    DistributedOptimizer optimizer(engine, model.Parameters(), Options());
    TakeStep(optimizer, model, 0, engine.rank());
    const std::string before = SaveOf(optimizer);
    std::ofstream full("/dev/full");
    EXPECT_THAT([&] { optimizer.Save(full); },
                ThrowsMessage<InvalidArgument>(HasSubstr("is the disk full?")));
    EXPECT_TRUE(SaveOf(optimizer) == before);
    EXPECT_EQ(TakeStep(optimizer, model, 1, engine.rank()).step, 1);
  });
}

TEST_F(BadCheckpoint, AnyDamagedByteIsCorrupt) {
  const std::string& whole = good_.files[0];
  RunLocal(1, [&](Engine& engine) {
    Model model;
    DistributedOptimizer optimizer(engine, model.Parameters(), Options());
    const std::string before = SaveOf(optimizer);
    for (std::size_t at = 0; at < whole.size(); at += 29) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x20);
      const std::vector<std::string> files = {damaged};
      EXPECT_THROW(LoadFrom(optimizer, files), Corrupt) << "byte " << at << " of " << whole.size();
    }
    EXPECT_TRUE(SaveOf(optimizer) == before) << "a refused Load changed something";
  });
}

TEST_F(BadCheckpoint, ACutOrDamagedFileIsNamedAndChangesNothing) {
  std::string cut = good_.files[1];
  cut.resize(cut.size() - 100);
  ExpectRefused<Corrupt>({good_.files[0], cut}, "file 2 of 2");
  ExpectRefused<Corrupt>({""}, "cut short");
  ExpectRefused<Corrupt>({"these are plain words, not a checkpoint"}, "not a saved optimizer");
}

TEST_F(BadCheckpoint, NoFileAtAllIsRefused) { ExpectRefused<InvalidArgument>({}, "at least one"); }

TEST_F(BadCheckpoint, FilesInTheWrongOrderOrNumberAreRefused) {
  ExpectRefused<InvalidArgument>({good_.files[1], good_.files[0]}, "in rank order");
  const Checkpoint three = Train(3, Options, 0, 5);
  ExpectRefused<InvalidArgument>({three.files[0], three.files[1]}, "saved by 3 ranks");
  ExpectRefused<InvalidArgument>({three.files[0]}, "saved by 3 ranks");
}

TEST_F(BadCheckpoint, TheFileOfAnotherRankIsRefusedThere) {
  RunLocal(2, [&](Engine& engine) {
    Model model;
    DistributedOptimizer optimizer(engine, model.Parameters(), Options());
    const std::vector<std::string> other = {
        good_.files[static_cast<std::size_t>(1 - engine.rank())]};
    EXPECT_THAT([&] { LoadFrom(optimizer, other); },
                ThrowsMessage<InvalidArgument>(
                    HasSubstr("on rank " + std::to_string(engine.rank()) +
                              " got the state of rank " + std::to_string(1 - engine.rank()))));
  });
}

TEST_F(BadCheckpoint, TheCheckpointOfOtherOptionsIsRefused) {
  const Checkpoint plain = Train(
      2,
      [] {
        OptimizerOptions options;
        options.momentum = 0.9f;
        return options;
      },
      0, 5);
  ExpectRefused<InvalidArgument>(plain.files, "array \"momentum\" of tensor");
}

TEST_F(BadCheckpoint, NothingIsSavedOrLoadedInTheMiddleOfAStep) {
  RunLocal(2, [&](Engine& engine) {
    Model model;
    DistributedOptimizer optimizer(engine, model.Parameters(), Options());
    optimizer.BeginStep(0.1f);
    EXPECT_THAT([&] { SaveOf(optimizer); },
                ThrowsMessage<InvalidArgument>(HasSubstr("in the middle of a step")));
    EXPECT_THAT([&] { LoadFrom(optimizer, good_.files); },
                ThrowsMessage<InvalidArgument>(HasSubstr("in the middle of a step")));
    optimizer.Step();
  });
}

}  // namespace
}  // namespace weir::bad_checkpoint_test
