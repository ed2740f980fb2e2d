#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weir/tensor.h"

namespace weir::bench {

/// A parameter of a well-known model.
struct NamedShape {
  std::string name;
  Shape shape;
  /// How often each of its values is used in a forward pass of one sample of the paper's size: a
  /// convolution's, once for each place of its output.
  std::int64_t uses = 1;
};

/// Layer shapes of the models that compression papers report on, in forward order.
///
/// ResNet-50 (He et al., 2016): 25,557,032 parameters.
std::vector<NamedShape> ResNet50();
/// ResNet-20 for CIFAR-10 (the same paper): 272,474 parameters.
std::vector<NamedShape> ResNet20();
/// GoogLeNet (Szegedy et al., 2015) with biases, without its auxiliary classifiers: 6,998,552
/// parameters.
std::vector<NamedShape> GoogLeNet();
/// VGG-16 (Simonyan and Zisserman, 2015): 138,357,544 parameters.
std::vector<NamedShape> Vgg16();
/// AlexNet as in Caffe, with groups: 60,965,224 parameters.
std::vector<NamedShape> AlexNet();
/// The word-level PTB language model of the DGC paper: two LSTM layers of 1,500 units with two
/// biases each, embedding and decoder tied, decoder bias: 51,034,000 parameters.
std::vector<NamedShape> TiedLstm();

std::int64_t Elements(const std::vector<NamedShape>& model);

}  // namespace weir::bench
