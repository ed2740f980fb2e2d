// The directions of a C++ program's optimizer on gradients that dgc_steps.py makes as well: writes
// those of all steps, as they are in memory, to FILE on rank 0.
//
//   dgc_steps FILE vanilla|nesterov KEY=VALUE...   (KEY: of the compression)
#include <cstdint>
#include <fstream>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include "weir/optimizer.h"

namespace {

constexpr int kSteps = 30;

/// A multiple of 2^-24 in [-0.5, 0.5), exact in fp32 and in any language.
float Gradient(std::uint32_t rank, std::uint32_t step, std::uint32_t tensor, std::uint32_t i) {
  std::uint32_t h = rank * 69069u + step * 40503u + tensor * 7919u + i;
  h = (h ^ (h >> 16)) * 2246822519u;
  h = (h ^ (h >> 13)) * 3266489917u;
  return static_cast<float>((h ^ (h >> 16)) >> 8) * 0x1p-24f - 0.5f;
}

void Run(int argc, char** argv) {
  const std::string file = argv[1];
  std::map<std::string, std::string> compression = {{"compressor", "dgc"}};
  for (int i = 3; i < argc; ++i) {
    const std::string option = argv[i];
    const std::size_t sign = option.find('=');
    compression[option.substr(0, sign)] = option.substr(sign + 1);
  }
  const auto engine = weir::Engine::Create();
  const std::vector<weir::Shape> shapes = {{64, 32}, {7, 5, 11}, {50}};
  std::vector<std::vector<float>> values, gradients;
  for (const weir::Shape& shape : shapes) {
    values.emplace_back(static_cast<std::size_t>(shape.elements()));
  }
  gradients = values;
  std::vector<weir::Parameter> parameters;
  for (std::size_t t = 0; t < shapes.size(); ++t) {
    parameters.push_back({.name = "p" + std::to_string(t),
                          .value = values[t],
                          .gradient = gradients[t],
                          .shape = shapes[t]});
  }
  weir::DistributedOptimizer optimizer(*engine, parameters,
                                       {.momentum = 0.9f,
                                        .nesterov = argv[2] == std::string("nesterov"),
                                        .compression = compression});
  std::ofstream out;
  if (engine->rank() == 0) out.open(file, std::ios::binary);
  for (std::uint32_t step = 0; step < kSteps; ++step) {
    optimizer.BeginStep(0.05f);
    for (std::uint32_t t = 0; t < shapes.size(); ++t) {
      for (std::uint32_t i = 0; i < gradients[t].size(); ++i) {
        gradients[t][i] = Gradient(static_cast<std::uint32_t>(engine->rank()), step, t, i);
      }
      optimizer.GradientReady(t);
    }
    optimizer.Step();
    for (const std::vector<float>& direction : gradients) {
      const auto bytes = std::as_bytes(std::span(direction));
      out.write(reinterpret_cast<const char*>(bytes.data()),
                static_cast<std::streamsize>(bytes.size()));
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: dgc_steps FILE vanilla|nesterov KEY=VALUE...\n";
    return 2;
  }
  try {
    Run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "dgc_steps: " << error.what() << '\n';
    return 1;
  }
}
