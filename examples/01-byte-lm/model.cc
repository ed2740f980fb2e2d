#include "examples/01-byte-lm/model.h"

#include <cmath>
#include <utility>

#include "examples/01-byte-lm/random.h"

namespace byte_lm {
namespace {

constexpr std::uint64_t kParameterStream = 2;  // the sampler's random numbers are another stream

// Small activations allow a higher learning rate: the curvature of a layer
// grows with the square of its input.
constexpr float kEmbeddingBound = 0.17f;

// Initialises uniformly in [-bound, bound).
Parameter MakeParameter(std::string name, int rows, int cols, float bound, std::uint64_t seed,
                        Model::Index index) {
  Parameter parameter{std::move(name), Eigen::MatrixXf(rows, cols),
                      Eigen::MatrixXf::Zero(rows, cols)};
  for (Eigen::Index i = 0; i < parameter.value.size(); ++i) {
    const float unit = RandomUnit(
        {kParameterStream, seed, static_cast<std::uint64_t>(index), static_cast<std::uint64_t>(i)});
    parameter.value.data()[i] = bound * (2.0f * unit - 1.0f);
  }
  return parameter;
}

float FanIn(int inputs) { return 1.0f / std::sqrt(static_cast<float>(inputs)); }

// Turns each column of logits into probabilities and computes the loss of each sample.
void SoftmaxAndLoss(const Batch& batch, Eigen::MatrixXf& output, Eigen::RowVectorXf& loss) {
  for (int b = 0; b < batch.size(); ++b) {
    auto column = output.col(b).array();
    column -= column.maxCoeff();  // exp cannot overflow
    const float target = column(batch.targets[static_cast<std::size_t>(b)]);
    column = column.exp();
    const float sum = column.sum();
    column /= sum;
    loss(b) = std::log(sum) - target;
  }
}

}  // namespace

Activations::Activations(const ModelShape& shape, int batch)
    : input(shape.input(), batch),
      hidden(shape.hidden, batch),
      output(kSymbols, batch),
      loss(batch),
      input_gradient(shape.input(), batch),
      hidden_gradient(shape.hidden, batch) {}

Model::Model(const ModelShape& shape, std::uint64_t seed)
    : shape_(shape),
      parameters_{
          MakeParameter("embedding", shape.embedding, kSymbols, kEmbeddingBound, seed, kEmbedding),
          MakeParameter("hidden.weight", shape.hidden, shape.input(), FanIn(shape.input()), seed,
                        kHiddenWeight),
          MakeParameter("hidden.bias", shape.hidden, 1, 0.0f, seed, kHiddenBias),
          MakeParameter("output.weight", kSymbols, shape.hidden, FanIn(shape.hidden), seed,
                        kOutputWeight),
          MakeParameter("output.bias", kSymbols, 1, 0.0f, seed, kOutputBias),
      } {}

std::int64_t Model::parameter_count() const {
  std::int64_t count = 0;
  for (const Parameter& parameter : parameters_) count += parameter.value.size();
  return count;
}

void Model::Forward(const Batch& batch, Activations& a) const {
  for (int b = 0; b < batch.size(); ++b) {
    for (int c = 0; c < shape_.context; ++c) {
      a.input.col(b).segment(c * shape_.embedding, shape_.embedding) =
          value(kEmbedding).col(batch.contexts(c, b));
    }
  }
  a.hidden.noalias() = value(kHiddenWeight) * a.input;
  a.hidden.colwise() += value(kHiddenBias).col(0);
  a.hidden = a.hidden.cwiseMax(0.0f);

  a.output.noalias() = value(kOutputWeight) * a.hidden;
  a.output.colwise() += value(kOutputBias).col(0);
  SoftmaxAndLoss(batch, a.output, a.loss);
}

void Model::Backward(const Batch& batch, Activations& a, const GradientHook& on_gradient) {
  for (int b = 0; b < batch.size(); ++b) {
    a.output(batch.targets[static_cast<std::size_t>(b)], b) -= 1.0f;
  }
  a.output /= static_cast<float>(batch.size());
  gradient(kOutputBias) = a.output.rowwise().sum();
  on_gradient(kOutputBias);
  gradient(kOutputWeight).noalias() = a.output * a.hidden.transpose();
  on_gradient(kOutputWeight);

  a.hidden_gradient.noalias() = value(kOutputWeight).transpose() * a.output;
  a.hidden_gradient.array() *= (a.hidden.array() > 0.0f).cast<float>();
  gradient(kHiddenBias) = a.hidden_gradient.rowwise().sum();
  on_gradient(kHiddenBias);
  gradient(kHiddenWeight).noalias() = a.hidden_gradient * a.input.transpose();
  on_gradient(kHiddenWeight);

  a.input_gradient.noalias() = value(kHiddenWeight).transpose() * a.hidden_gradient;
  gradient(kEmbedding).setZero();
  for (int b = 0; b < batch.size(); ++b) {
    for (int c = 0; c < shape_.context; ++c) {
      gradient(kEmbedding).col(batch.contexts(c, b)) +=
          a.input_gradient.col(b).segment(c * shape_.embedding, shape_.embedding);
    }
  }
  on_gradient(kEmbedding);
}

}  // namespace byte_lm
