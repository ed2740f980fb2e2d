// A rank that trains until a file exists, whose text tells how to end.
//
// usage: ending_rank FILE      "well": all in good order; "early": rank 1 ends while others wait
// for it; anything else: rank 1 aborts for that reason

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "tests/coordinator/jobs/training.h"
#include "tests/launcher/programs/say.h"
#include "weir/engine.h"

namespace {

/// As rank 0 sees it, so that all train as many steps.
bool IsThere(weir::Engine& engine, const std::string& path) {
  std::vector<float> there{std::filesystem::exists(path) ? 1.0f : 0.0f};
  engine.Wait(engine.Broadcast("there", weir::ViewOf(std::span<float>(there)), 0));
  return there[0] != 0.0f;
}

std::string TextOf(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

int main(int, char** argv) {
  const std::string path = argv[1];
  const std::unique_ptr<weir::Engine> engine = weir::Engine::Create();
  weir::Training training(*engine, weir::DgcOptions("vanilla", 10));
  try {
    while (!IsThere(*engine, path)) training.Steps(1);
    const std::string text = TextOf(path);
    if (engine->rank() == 1 && text == "early") return 0;
    if (engine->rank() == 1 && text != "well") {
      engine->Abort(text);
      return 1;
    }
    engine->Wait(engine->Barrier("end"));
  } catch (const weir::Error& error) {
    weir::Say(error.what());
    return 1;
  }
  return 0;
}
