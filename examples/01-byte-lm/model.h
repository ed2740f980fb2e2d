#pragma once

#include <Eigen/Core>
#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "examples/01-byte-lm/data.h"

namespace byte_lm {

inline constexpr int kSymbols = 256;  // values of a byte

/// Sizes of the layers. The default has 1,058,048 parameters.
struct ModelShape {
  int context = 24;    ///< Bytes that the model sees.
  int embedding = 32;  ///< Numbers that represent one byte.
  int hidden = 1024;   ///< Units of the hidden layer.

  int input() const { return context * embedding; }
};

/// One trained tensor. A vector (a bias) is a matrix of one column.
struct Parameter {
  std::string name;
  Eigen::MatrixXf value;
  Eigen::MatrixXf gradient;  ///< Gradient of the last batch's mean loss; same shape.
};

/// Called during Backward with the index of a parameter, as soon as its gradient is complete.
using GradientHook = std::function<void(int parameter)>;

/// Results of the layers for one batch, one column a sample. Allocated once, used every step.
struct Activations {
  Activations(const ModelShape& shape, int batch);

  Eigen::MatrixXf input;            ///< [context * embedding, batch]: the embedded bytes.
  Eigen::MatrixXf hidden;           ///< [hidden, batch], after the rectifier.
  Eigen::MatrixXf output;           ///< [256, batch]: probabilities; after Backward their gradient.
  Eigen::RowVectorXf loss;          ///< [batch]: cross entropy of each sample, in nats.
  Eigen::MatrixXf input_gradient;   ///< Like input.
  Eigen::MatrixXf hidden_gradient;  ///< Like hidden.
};

/// Predicts the next byte of a text from the bytes before it: each byte is embedded, the embeddings
/// are joined, one hidden layer of rectified linear units, softmax over 256 (Bengio et al., "A
/// neural probabilistic language model", 2003, with bytes for words).
///
/// Forward is const and may run on several threads, each with its own activations.
class Model {
 public:
  /// Parameters in the order in which Forward uses them; Backward completes them in reverse.
  enum Index { kEmbedding, kHiddenWeight, kHiddenBias, kOutputWeight, kOutputBias, kCount };

  /// Makes random initial parameters, a pure function of the seed.
  Model(const ModelShape& shape, std::uint64_t seed);

  /// Fills `activations`, `loss` included.
  void Forward(const Batch& batch, Activations& activations) const;

  /// Fills the gradients from Forward's `activations`, last layer first. Calls the hook for each
  /// gradient before it computes the next layer, so that its exchange overlaps the rest.
  void Backward(const Batch& batch, Activations& activations, const GradientHook& on_gradient);

  const ModelShape& shape() const { return shape_; }
  std::span<Parameter> parameters() { return parameters_; }
  std::span<const Parameter> parameters() const { return parameters_; }
  std::int64_t parameter_count() const;

 private:
  const Eigen::MatrixXf& value(Index i) const { return parameters_[i].value; }
  Eigen::MatrixXf& gradient(Index i) { return parameters_[i].gradient; }

  ModelShape shape_;
  std::array<Parameter, kCount> parameters_;
};

}  // namespace byte_lm
