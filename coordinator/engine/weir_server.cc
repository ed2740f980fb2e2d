// weir-server: started by weirrun --servers in place of the program.
#include <cstdio>
#include <exception>
#include <string_view>

#include "coordinator/engine/process_environment.h"
#include "coordinator/engine/server_process.h"
#include "weir/settings.h"

int main(int argc, char**) {
  if (argc > 1) {
    std::fputs(
        "weir-server: a summation server of a job; weirrun --servers starts it, and it takes "
        "no arguments\n",
        stderr);
    return 2;
  }
  try {
    const weir::Settings settings = weir::Settings::FromEnvironment();
    weir::RunServer(settings, weir::ProcessEnvironment(settings));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "weir-server: %s\n", error.what());
    return 1;
  }
  return 0;
}
