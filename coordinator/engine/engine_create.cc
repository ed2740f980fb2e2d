#include <memory>

#include "coordinator/engine/process_environment.h"

namespace weir {

std::unique_ptr<Engine> Engine::Create(const Settings& settings) {
  return std::make_unique<EngineImpl>(settings, ProcessEnvironment(settings));
}

}  // namespace weir
