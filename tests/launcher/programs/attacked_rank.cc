// A rank that adds up all ranks' numbers again and again, and checks each sum, until the file that
// its argument names is there. It fails with the first sum that is wrong.

#include <unistd.h>

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tests/launcher/programs/say.h"
#include "weir/engine.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::unique_ptr<weir::Engine> engine =
      weir::Engine::Create(weir::Settings::FromEnvironment());
  const int rank = engine->rank();
  weir::Say("rank " + std::to_string(rank) + " is process " + std::to_string(getpid()));
  // The last number is rank 0's word that the file is there, so that all end with the same sum.
  std::vector<float> mine(4096, static_cast<float>(rank + 1));
  std::vector<float> sum(mine.size());
  float all = 0.0f;
  for (int r = 0; r < engine->size(); ++r) all += static_cast<float>(r + 1);
  int sums = 0;
  do {
    mine.back() = rank == 0 && std::filesystem::exists(argv[1]) ? 1.0f : 0.0f;
    engine->Wait(engine->Allreduce("sum", weir::ViewOf(std::span<const float>(mine)),
                                   weir::ViewOf(std::span<float>(sum)),
                                   {.op = weir::ReduceOp::kSum}));
    for (std::size_t i = 0; i + 1 < sum.size(); ++i) {
      if (sum[i] != all) return 3;
    }
    ++sums;
  } while (sum.back() == 0.0f);
  weir::Say("rank " + std::to_string(rank) + " has " + std::to_string(sums) + " right sums");
  engine->Shutdown();
}
