// A rank that adds up all ranks' numbers over the engine, again and again in growing arrays, and
// says where it sits and what came out.

#include <unistd.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tests/launcher/programs/say.h"
#include "weir/engine.h"

namespace {

constexpr std::size_t kElements = 1 << 20;  // 4 MB, so that a network that only greets is noticed.

std::string HostName() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

}  // namespace

int main() {
  const std::unique_ptr<weir::Engine> engine =
      weir::Engine::Create(weir::Settings::FromEnvironment());
  std::vector<float> sum;
  for (std::size_t elements = 1; elements <= kElements; elements *= 32) {
    const std::vector<float> mine(elements, static_cast<float>(engine->rank() + 1));
    sum.assign(elements, 0.0f);
    engine->Wait(engine->Allreduce(
        "sum." + std::to_string(elements), weir::ViewOf(std::span<const float>(mine)),
        weir::ViewOf(std::span<float>(sum)), {.op = weir::ReduceOp::kSum}));
  }
  weir::Say("rank " + std::to_string(engine->rank()) + " of " + std::to_string(engine->size()) +
            " is " + std::to_string(engine->local_rank()) + " on " + HostName() + ", sum " +
            std::to_string(static_cast<int>(sum.back())));
  engine->Shutdown();
}
