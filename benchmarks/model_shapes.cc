#include "benchmarks/model_shapes.h"

namespace weir::bench {
namespace {

using Model = std::vector<NamedShape>;

/// `side`: places of the output along one side, here and below.
void AddBatchNorm(Model& model, const std::string& name, std::int64_t channels, std::int64_t side) {
  model.push_back({name + ".weight", Shape{channels}, side * side});
  model.push_back({name + ".bias", Shape{channels}, side * side});
}

/// A square kernel of `width`.
void AddConvolution(Model& model, const std::string& name, std::int64_t out, std::int64_t in,
                    std::int64_t width, std::int64_t side) {
  model.push_back({name + ".weight", Shape{out, in, width, width}, side * side});
}

/// One residual block: 1x1, 3x3, 1x1 convolutions, each with its normalisation. The second one
/// makes `side` places of `side_before`.
void AddBottleneck(Model& model, const std::string& name, std::int64_t in, std::int64_t width,
                   bool project, std::int64_t side_before, std::int64_t side) {
  const std::int64_t out = 4 * width;
  AddConvolution(model, name + ".conv1", width, in, 1, side_before);
  AddBatchNorm(model, name + ".bn1", width, side_before);
  AddConvolution(model, name + ".conv2", width, width, 3, side);
  AddBatchNorm(model, name + ".bn2", width, side);
  AddConvolution(model, name + ".conv3", out, width, 1, side);
  AddBatchNorm(model, name + ".bn3", out, side);
  if (!project) return;
  AddConvolution(model, name + ".project", out, in, 1, side);
  AddBatchNorm(model, name + ".project_bn", out, side);
}

void AddLinear(Model& model, const std::string& name, std::int64_t out, std::int64_t in) {
  model.push_back({name + ".weight", Shape{out, in}});
  model.push_back({name + ".bias", Shape{out}});
}

void AddBiasedConvolution(Model& model, const std::string& name, std::int64_t out, std::int64_t in,
                          std::int64_t width, std::int64_t side) {
  AddConvolution(model, name, out, in, width, side);
  model.push_back({name + ".bias", Shape{out}, side * side});
}

}  // namespace

std::vector<NamedShape> ResNet20() {
  Model model;
  AddConvolution(model, "conv1", 16, 3, 3, 32);
  AddBatchNorm(model, "bn1", 16, 32);
  std::int64_t in = 16;
  for (int stage = 0; stage < 3; ++stage) {
    const std::int64_t width = std::int64_t{16} << stage;
    const std::int64_t side = 32 >> stage;
    for (int block = 0; block < 3; ++block) {
      const std::string name = "layer" + std::to_string(stage + 1) + "." + std::to_string(block);
      AddConvolution(model, name + ".conv1", width, in, 3, side);
      AddBatchNorm(model, name + ".bn1", width, side);
      AddConvolution(model, name + ".conv2", width, width, 3, side);
      AddBatchNorm(model, name + ".bn2", width, side);
      in = width;
    }
  }
  AddLinear(model, "fc", 10, in);
  return model;
}

std::vector<NamedShape> GoogLeNet() {
  Model model;
  AddBiasedConvolution(model, "conv1", 64, 3, 7, 112);
  AddBiasedConvolution(model, "conv2.reduce", 64, 64, 1, 56);
  AddBiasedConvolution(model, "conv2", 192, 64, 3, 56);
  struct Inception {
    const char* name;
    std::int64_t one, reduce3, three, reduce5, five, pool;
  };
  constexpr Inception kInceptions[] = {
      {"3a", 64, 96, 128, 16, 32, 32},     {"3b", 128, 128, 192, 32, 96, 64},
      {"4a", 192, 96, 208, 16, 48, 64},    {"4b", 160, 112, 224, 24, 64, 64},
      {"4c", 128, 128, 256, 24, 64, 64},   {"4d", 112, 144, 288, 32, 64, 64},
      {"4e", 256, 160, 320, 32, 128, 128}, {"5a", 256, 160, 320, 32, 128, 128},
      {"5b", 384, 192, 384, 48, 128, 128}};
  std::int64_t in = 192;
  for (const Inception& one : kInceptions) {
    const std::string name = std::string("inception") + one.name;
    const std::int64_t side = 28 >> (one.name[0] - '3');
    AddBiasedConvolution(model, name + ".1x1", one.one, in, 1, side);
    AddBiasedConvolution(model, name + ".3x3.reduce", one.reduce3, in, 1, side);
    AddBiasedConvolution(model, name + ".3x3", one.three, one.reduce3, 3, side);
    AddBiasedConvolution(model, name + ".5x5.reduce", one.reduce5, in, 1, side);
    AddBiasedConvolution(model, name + ".5x5", one.five, one.reduce5, 5, side);
    AddBiasedConvolution(model, name + ".pool", one.pool, in, 1, side);
    in = one.one + one.three + one.five + one.pool;
  }
  AddLinear(model, "fc", 1000, in);
  return model;
}

std::vector<NamedShape> Vgg16() {
  Model model;
  constexpr std::int64_t kWidths[] = {64,  64,  128, 128, 256, 256, 256,
                                      512, 512, 512, 512, 512, 512};
  std::int64_t in = 3;
  int number = 0;
  std::int64_t side = 224;
  for (const std::int64_t width : kWidths) {
    // Pooling comes after the second, fourth, seventh and tenth.
    if (number == 2 || number == 4 || number == 7 || number == 10) side /= 2;
    AddBiasedConvolution(model, "conv" + std::to_string(++number), width, in, 3, side);
    in = width;
  }
  AddLinear(model, "fc1", 4096, 512 * 7 * 7);
  AddLinear(model, "fc2", 4096, 4096);
  AddLinear(model, "fc3", 1000, 4096);
  return model;
}

std::vector<NamedShape> ResNet50() {
  Model model;
  AddConvolution(model, "conv1", 64, 3, 7, 112);
  AddBatchNorm(model, "bn1", 64, 112);
  constexpr int kBlocks[] = {3, 4, 6, 3};
  std::int64_t in = 64;
  for (int stage = 0; stage < 4; ++stage) {
    const std::int64_t width = std::int64_t{64} << stage;
    const std::int64_t side = 56 >> stage;
    for (int block = 0; block < kBlocks[stage]; ++block) {
      AddBottleneck(model, "layer" + std::to_string(stage + 1) + "." + std::to_string(block), in,
                    width, block == 0, block == 0 && stage > 0 ? 2 * side : side, side);
      in = 4 * width;
    }
  }
  AddLinear(model, "fc", 1000, 2048);
  return model;
}

std::vector<NamedShape> AlexNet() {
  Model model;
  struct Convolution {
    std::int64_t out, in, width, side;
  };
  constexpr Convolution kConvolutions[] = {
      {96, 3, 11, 55}, {256, 48, 5, 27}, {384, 256, 3, 13}, {384, 192, 3, 13}, {256, 192, 3, 13}};
  int number = 0;
  for (const Convolution& c : kConvolutions) {
    const std::string name = "conv" + std::to_string(++number);
    AddBiasedConvolution(model, name, c.out, c.in, c.width, c.side);
  }
  AddLinear(model, "fc6", 4096, 9216);
  AddLinear(model, "fc7", 4096, 4096);
  AddLinear(model, "fc8", 1000, 4096);
  return model;
}

std::vector<NamedShape> TiedLstm() {
  constexpr std::int64_t kUnits = 1500;
  constexpr std::int64_t kWords = 10000;
  Model model = {{"embedding", Shape{kWords, kUnits}}};
  for (const std::string layer : {"lstm0", "lstm1"}) {
    model.push_back({layer + ".input", Shape{4 * kUnits, kUnits}});
    model.push_back({layer + ".hidden", Shape{4 * kUnits, kUnits}});
    model.push_back({layer + ".input_bias", Shape{4 * kUnits}});
    model.push_back({layer + ".hidden_bias", Shape{4 * kUnits}});
  }
  model.push_back({"decoder.bias", Shape{kWords}});
  return model;
}

std::int64_t Elements(const std::vector<NamedShape>& model) {
  std::int64_t elements = 0;
  for (const NamedShape& tensor : model) elements += tensor.shape.elements();
  return elements;
}

}  // namespace weir::bench
