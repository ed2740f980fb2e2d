#include "plugins/python/src/job.h"

#include "weir/error.h"

namespace weir::python {

Job::Job() : engine_(Engine::Create(Settings::FromEnvironment())) {}

std::shared_ptr<Engine> Job::engine() const {
  const std::lock_guard lock(mutex_);
  if (!engine_) throw ShutDown("this process has left the job");
  return engine_;
}

void Job::Leave() {
  std::shared_ptr<Engine> engine;
  {
    const std::lock_guard lock(mutex_);
    engine.swap(engine_);
  }
  if (engine) engine->Shutdown();
}

}  // namespace weir::python
