#include "plugins/python/src/job.h"

#include <utility>

#include "weir/error.h"

namespace weir::python {

namespace {

Settings SettingsWith(std::string token) {
  Settings settings = Settings::FromEnvironment();
  if (!token.empty()) settings.token = std::move(token);
  return settings;
}

}  // namespace

Job::Job(std::string token) : engine_(Engine::Create(SettingsWith(std::move(token)))) {}

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
