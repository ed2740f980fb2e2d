// weir-compressor: the compression process of a rank; its engine starts it (WEIR_PIPELINE=process).
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <initializer_list>

#include "common/text/parse_number.h"
#include "common/threads/background_thread.h"
#include "compression/process/served_compressors.h"

int main(int argc, char** argv) {
  int type = 0;
  socklen_t size = sizeof(type);
  if (argc != 2 || getsockopt(STDIN_FILENO, SOL_SOCKET, SO_TYPE, &type, &size) != 0) {
    std::fputs(
        "weir-compressor: compresses for a program of Weir, whose engine starts it; it is no "
        "command for people\n",
        stderr);
    return 2;
  }
  // Signals to the job are the program's business: this process ends with it.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) std::signal(signal, SIG_IGN);
  weir::WorkInBackground();
  try {
    weir::ServeCompressors(STDIN_FILENO, std::max(1, weir::ParseNumber<int>(argv[1]).value_or(1)));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "weir-compressor: %s\n", error.what());
    return 1;
  }
  return 0;
}
