#include "plugins/python/src/job.h"

#include <fmt/core.h>

#include <cstdlib>
#include <exception>
#include <utility>

#include "common/log.h"
#include "weir/error.h"

namespace weir::python {

namespace {

Settings SettingsWith(std::string token) {
  Settings settings = Settings::FromEnvironment();
  if (!token.empty()) settings.token = std::move(token);
  return settings;
}

/// `held`: an owned std::shared_ptr<Engine>.
void LeaveWithExitCode(int code, void* held) {
  const std::unique_ptr<std::shared_ptr<Engine>> engine(
      static_cast<std::shared_ptr<Engine>*>(held));
  try {
    if (code != 0) (*engine)->Abort(fmt::format("the program ended with exit code {}", code));
    (*engine)->Shutdown();
  } catch (const std::exception& error) {
    LogWarning("the job was not left in good order: {}", error.what());
  }
}

}  // namespace

Job::Job(std::string token) : engine_(Engine::Create(SettingsWith(std::move(token)))) {}

std::shared_ptr<Engine> Job::engine() const {
  const std::lock_guard lock(mutex_);
  if (!engine_) throw ShutDown("this process has left the job");
  return engine_;
}

std::shared_ptr<Engine> Job::Release() {
  const std::lock_guard lock(mutex_);
  return std::exchange(engine_, nullptr);
}

void Job::Leave() {
  if (const std::shared_ptr<Engine> engine = Release()) engine->Shutdown();
}

void Job::LeaveAtExit() {
  // on_exit and not atexit, whose handlers do not learn the exit code.
  if (auto engine = Release()) {
    on_exit(&LeaveWithExitCode, new std::shared_ptr<Engine>(std::move(engine)));
  }
}

}  // namespace weir::python
