#include "tests/faults/programs/faults.h"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <random>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <vector>

namespace weir::faults {
namespace {

constexpr std::chrono::milliseconds kStraggling{400};
constexpr std::chrono::microseconds kLatest{4000};

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
  return parts;
}

}  // namespace

Faults::Faults(const std::string& text, int process, std::uint64_t seed) : seed_(seed) {
  for (const std::string& entry : Split(text, ',')) {
    const std::vector<std::string> parts = Split(entry, ':');
    if (parts.size() != 4) throw std::invalid_argument("a fault is PROCESS:DEED:PHASE:STEP");
    if (std::stoi(parts[0]) != process) continue;
    Fault& fault = faults_.emplace_back();
    fault.deed = parts[1];
    fault.phase = parts[2];
    fault.step = std::stoll(parts[3]);
  }
}

void Faults::BeginStep(std::int64_t step) {
  step_ = step;
  At("begin");
  for (Fault& fault : faults_) {
    if (fault.phase == "later" && fault.step == step && !fault.done.exchange(true)) {
      DoLater(fault.deed);
    }
  }
}

void Faults::At(const char* phase) {
  for (Fault& fault : faults_) {
    if (fault.phase == phase && fault.step == step_ && !fault.done.exchange(true)) Do(fault.deed);
  }
}

bool Faults::Takes(const char* deed, const char* phase) {
  for (Fault& fault : faults_) {
    const bool due = fault.phase == phase && fault.step == step_ && fault.deed == deed;
    if (due && !fault.done.exchange(true)) return true;
  }
  return false;
}

void Faults::Do(const std::string& deed) const {
  if (deed == "kill") raise(SIGKILL);
  if (deed == "stop") raise(SIGSTOP);
  if (deed == "crash") {
    std::signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
  }
  if (deed == "exit") _exit(3);
  if (deed == "straggle") std::this_thread::sleep_for(kStraggling);
}

void Faults::DoLater(const std::string& deed) const {
  std::mt19937_64 random(seed_);
  const auto delay = std::uniform_int_distribution<std::int64_t>(0, kLatest.count())(random);
  std::thread([this, deed, delay] {
    std::this_thread::sleep_for(std::chrono::microseconds(delay));
    Do(deed);
  }).detach();
}

Faults*& Current() {
  static Faults* current = nullptr;
  return current;
}

}  // namespace weir::faults
