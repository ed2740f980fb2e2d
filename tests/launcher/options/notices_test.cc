// Options that are accepted without effect (Options::notices).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "launcher/options/horovod_flags.h"
#include "launcher/options/options.h"

namespace weir::launcher {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

TEST(Notices, OptionsOfOtherLibrariesSayWhatTheyDoHere) {
  const Options options = ParseOptions(
      {"-np", "1", "--jsrun", "--num-nccl-streams", "2", "--mpi-threads-disable", "x"});
  EXPECT_THAT(options.notices,
              UnorderedElementsAre(HasSubstr("--jsrun has no effect: "),
                                   HasSubstr("--num-nccl-streams has no effect: "),
                                   HasSubstr("--mpi-threads-disable has no effect: one thread")));
}

TEST(Notices, EveryFlagThatSetsNothingIsTakenAndSaysWhatItHasToSay) {
  for (const AcceptedFlag& flag : AcceptedFlags()) {
    std::vector<std::string> words = {"-np", "1", flag.flag};
    if (flag.values == 1) words.emplace_back("2");
    words.emplace_back("x");
    const Options options = ParseOptions(words);
    EXPECT_EQ(options.command, std::vector<std::string>{"x"}) << flag.flag;
    EXPECT_THAT(options.notices, flag.says.empty()
                                     ? testing::Matcher<std::vector<std::string>>(IsEmpty())
                                     : ElementsAre(HasSubstr(flag.says)))
        << flag.flag;
  }
}

TEST(Notices, AVariableThatStartsNoServersIsSpokenOf) {
  setenv("WEIR_SERVERS", "2", 1);
  EXPECT_THAT(ParseOptions({"-np", "1", "x"}).notices,
              ElementsAre(HasSubstr("WEIR_SERVERS has no effect: give --servers")));
  EXPECT_THAT(ParseOptions({"-np", "1", "--servers", "2", "x"}).notices, IsEmpty());
  setenv("WEIR_SERVERS", "0", 1);
  EXPECT_THAT(ParseOptions({"-np", "1", "x"}).notices, IsEmpty());
  setenv("WEIR_SERVERS", "2", 1);
  // A job's within another, whose weirrun has set it.
  setenv("WEIR_LAUNCHER_ORIGINS", "", 1);
  EXPECT_THAT(ParseOptions({"-np", "1", "x"}).notices, IsEmpty());
  unsetenv("WEIR_LAUNCHER_ORIGINS");
  unsetenv("WEIR_SERVERS");
}

TEST(Notices, OptionsThatAskForWhatIsDoneAnywaySayNothing) {
  EXPECT_THAT(ParseOptions({"-np", "1", "--mpi", "--no-autotune", "--no-torus-allreduce",
                            "--disable-cache", "x"})
                  .notices,
              IsEmpty());
}

}  // namespace
}  // namespace weir::launcher
