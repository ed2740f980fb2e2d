#include <cstdio>
#include <string>
#include <vector>

#include "launcher/check_build.h"
#include "launcher/launcher.h"
#include "launcher/options.h"
#include "launcher/supervisor.h"
#include "weir/error.h"

namespace {

using weir::launcher::Options;

/// weirrun's own mistakes and its user's; a failing job has the code of its first failing rank.
constexpr int kUsageError = 2;

int Main(const std::vector<std::string>& arguments) {
  if (arguments.size() > 2 && arguments[0] == "--supervise") {
    return weir::launcher::RunSupervisor({arguments.begin() + 2, arguments.end()});
  }
  const Options options = weir::launcher::ParseOptions(arguments);
  switch (options.action) {
    case Options::Action::kHelp:
      std::fputs(options.help.c_str(), stdout);
      return 0;
    case Options::Action::kVersion:
      std::puts(WEIR_VERSION);
      return 0;
    case Options::Action::kCheckBuild:
      std::fputs(weir::launcher::CheckBuild().c_str(), stdout);
      return 0;
    case Options::Action::kRun:
      break;
  }
  for (const std::string& notice : options.notices) {
    std::fprintf(stderr, "weirrun: note: %s\n", notice.c_str());
  }
  return weir::launcher::Launcher(options).Run();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Main({argv + 1, argv + argc});
  } catch (const weir::Error& error) {
    std::fprintf(stderr, "weirrun: %s\n", error.what());
    return kUsageError;
  }
}
