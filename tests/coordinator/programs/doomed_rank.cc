// A rank of a job in which one rank ends in the middle of an exchange; the
// others print their engine's message.
//
// usage: doomed_rank VICTIM allreduce|dgc|push_pull kill|exit|terminate|unwind|go-on

#include <csignal>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/launcher/programs/say.h"
#include "weir/engine.h"

namespace {

using weir::DType;
using weir::Engine;
using weir::Handle;
using weir::Say;
using weir::Shape;

constexpr int kLastStep = 5;
constexpr std::int64_t kElements = 4'000'000;  // 16 MB: under way for milliseconds.

void Do(const std::string& deed) {
  if (deed == "go-on") return Say("goes on");
  if (deed == "kill") raise(SIGKILL);
  if (deed == "exit") std::exit(3);
  throw std::runtime_error("the data set is gone");
}

/// Large all-reduces without end; `doom` is called after step kLastStep has been submitted.
template <typename Doom>
void Allreduces(Engine& engine, Doom doom) {
  std::vector<float> values(kElements, 1.0f);
  std::vector<float> sum(kElements);
  for (int step = 0;; ++step) {
    const Handle handle = engine.Allreduce("sum", weir::ViewOf(std::span<const float>(values)),
                                           weir::ViewOf(std::span<float>(sum)));
    if (step == kLastStep) doom();
    engine.Wait(handle);
  }
}

/// The same with compressed gradients.
template <typename Doom>
void DgcSteps(Engine& engine, const std::string& route, Doom doom) {
  constexpr std::int64_t kTensors = 4;
  const Shape shape{kElements / kTensors / 1000, 1000};
  weir::GradientGroupSpec spec{.name = "model",
                               .compression = {{"compressor", "dgc"}, {"route", route}}};
  for (int i = 0; i < kTensors; ++i) {
    spec.tensors.push_back({.name = "p" + std::to_string(i), .shape = shape});
  }
  std::vector<float> gradients(kElements, 1.0f);
  std::vector<float> updates(kElements);
  const auto group = engine.Register(spec);
  for (int step = 0;; ++step) {
    group->BeginStep({});
    for (std::int64_t i = 0; i < kTensors; ++i) {
      const std::int64_t at = i * shape.elements();
      group->Submit(static_cast<std::size_t>(i), {&gradients[at], DType::kFloat32, shape},
                    {&updates[at], DType::kFloat32, shape});
      if (step == kLastStep && i == kTensors / 2) doom();
    }
    group->EndStep();
    group->WaitStep();
  }
}

void Run(int victim, const std::string& work, const std::string& deed) {
  const std::unique_ptr<Engine> engine = Engine::Create();
  weir::SaySharedMemory();
  const auto doom = [&] {
    if (engine->rank() == victim) Do(deed);
  };
  try {
    if (work == "allreduce") {
      Allreduces(*engine, doom);
    } else {
      DgcSteps(*engine, work == "dgc" ? "allgather" : work, doom);
    }
  } catch (const weir::PeerLost& error) {
    std::string lost;
    for (const int rank : error.context().ranks) lost += " " + std::to_string(rank);
    Say("PeerLost:" + lost + ": " + error.what());
  } catch (const weir::Error& error) {
    Say(std::string("another error: ") + error.what());
  }
}

}  // namespace

int main(int, char** argv) {
  const std::string deed = argv[3];
  if (deed != "unwind") {
    Run(std::stoi(argv[1]), argv[2], deed);
    return 1;
  }
  try {
    Run(std::stoi(argv[1]), argv[2], deed);
  } catch (const std::runtime_error& error) {
    Say(std::string("unwound: ") + error.what());
    return 7;
  }
  return 1;
}
