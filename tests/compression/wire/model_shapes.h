#pragma once

#include <cstddef>
#include <vector>

/// Parameter tensors of the models in the DGC paper, for sizes on the wire.
namespace weir::test {

struct ModelShapes {
  std::vector<std::size_t> matrices;  ///< Elements of each tensor of two and more dimensions.
  std::vector<std::size_t> vectors;   ///< Elements of each 1-D tensor, which stays dense.

  std::size_t elements() const {
    std::size_t sum = 0;
    for (std::size_t n : matrices) sum += n;
    for (std::size_t n : vectors) sum += n;
    return sum;
  }
};

inline ModelShapes ResNet50() {
  ModelShapes model;
  const auto conv = [&model](std::size_t in, std::size_t out, std::size_t window) {
    model.matrices.push_back(in * out * window);
    model.vectors.insert(model.vectors.end(), {out, out});  // Its batch norm.
  };
  conv(3, 64, 49);
  std::size_t in = 64;
  std::size_t width = 64;
  for (int blocks : {3, 4, 6, 3}) {
    for (int block = 0; block < blocks; ++block) {
      conv(in, width, 1);
      conv(width, width, 9);
      conv(width, 4 * width, 1);
      if (block == 0) conv(in, 4 * width, 1);
      in = 4 * width;
    }
    width *= 2;
  }
  model.matrices.push_back(2048 * 1000);
  model.vectors.push_back(1000);
  return model;
}

/// Caffe's version, with grouped convolutions.
inline ModelShapes AlexNet() {
  return {{34848, 307200, 884736, 663552, 442368, 37748736, 16777216, 4096000},
          {96, 256, 384, 384, 256, 4096, 4096, 1000}};
}

/// Two layers of 1500 on PTB, embedding and decoder tied, two biases a layer.
inline ModelShapes PtbLstm() {
  return {{15000000, 9000000, 9000000, 9000000, 9000000}, {6000, 6000, 6000, 6000, 10000}};
}

}  // namespace weir::test
