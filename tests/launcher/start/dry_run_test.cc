#include "launcher/start/dry_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launcher/start/mpiexec.h"
#include "launcher/text/shell_words.h"

namespace weir::launcher {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(ShellWords, QuotesWhatAShellWouldTakeApart) {
  EXPECT_EQ(ShellWords({"a", "b=1,2", "/x-y_z.txt"}), "a b=1,2 /x-y_z.txt");
  EXPECT_EQ(ShellWords({"two words", "", "it's", "$HOME", "*"}),
            R"('two words' '' 'it'\''s' '$HOME' '*')");
}

TEST(DryRun, ShowsCommandPlacesAndVariables) {
  const Options options = ParseOptions({"-np", "4", "-H", "a:1,b:2,c:4,d:1", "--cycle-time-ms", "2",
                                        "-p", "2222", "python", "my train.py"});
  const std::string text = DryRun({{.command = MpiexecCommand("/opt/mpiexec", options)}}, options);
  EXPECT_THAT(text, StartsWith("command:\n  /opt/mpiexec -np 4 -hosts a:1,b:2,c:4,d:1 "));
  EXPECT_THAT(text, HasSubstr(" --supervise -- python 'my train.py'\n"));
  EXPECT_THAT(text, HasSubstr("ranks:\n  rank 0 on a\n  ranks 1-2 on b\n  rank 3 on c\nenviron"));
  EXPECT_THAT(text, Not(HasSubstr("on d")));
  EXPECT_THAT(text, HasSubstr("HYDRA_LAUNCHER_EXTRA_ARGS='"));
  EXPECT_THAT(text, EndsWith("  WEIR_CYCLE_TIME=2\n"));
}

TEST(DryRun, ShowsServers) {
  const Options options =
      ParseOptions({"-np", "2", "--servers", "2", "-H", "a:1,b:3", "train", "-x"});
  const std::string text = DryRun({{.command = MpiexecCommand("/opt/mpiexec", options)}}, options);
  EXPECT_THAT(text, StartsWith("command:\n  /opt/mpiexec -np 2 -hosts a:1,b:3 "));
  EXPECT_THAT(text, HasSubstr(" --supervise -- train -x : -np 2 "));
  EXPECT_THAT(text, HasSubstr("/weir-server\nranks:\n  rank 0 on a\n  rank 1 on b\n"
                              "  summation server 0 on b\n  summation server 1 on b\nenviron"));
  EXPECT_THAT(text, EndsWith("  WEIR_SERVERS=2\n"));
}

}  // namespace
}  // namespace weir::launcher
