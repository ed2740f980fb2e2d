// Ranks that leave the job in good order and keep their engines until they exit.

#include <cstdlib>

#include "weir/engine.h"

int main() {
  weir::Engine* engine = weir::Engine::Create().release();
  engine->Shutdown();
  std::exit(0);
}
