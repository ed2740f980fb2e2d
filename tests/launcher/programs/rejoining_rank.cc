// A job that all ranks leave in good order, and that rank 0 alone then joins again.

#include "weir/engine.h"

int main() {
  const bool again = weir::Engine::Create()->rank() == 0;
  if (again) weir::Engine::Create();
}
