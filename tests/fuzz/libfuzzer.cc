// The two functions that libFuzzer looks for (https://llvm.org/docs/LibFuzzer.html).
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/fuzz/fuzz_target.h"

namespace {

using weir::fuzz::Bytes;

void WriteSeeds(const std::filesystem::path& folder) {
  int number = 0;
  for (const Bytes& seed : weir::fuzz::Seeds()) {
    std::ofstream file(folder / ("seed-" + std::to_string(number++)), std::ios::binary);
    file.write(reinterpret_cast<const char*>(seed.data()),
               static_cast<std::streamsize>(seed.size()));
    WEIR_CHECK_MSG(file.good(), "seeds go to " + folder.string());
  }
}

}  // namespace

/// Seeds go into the first folder of the command line, which is where libFuzzer keeps what it
/// finds.
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  for (int i = 1; i < *argc; ++i) {
    if (!std::filesystem::is_directory((*argv)[i])) continue;
    WriteSeeds((*argv)[i]);
    break;
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weir::fuzz::Run({reinterpret_cast<const std::byte*>(data), size});
  return 0;
}
