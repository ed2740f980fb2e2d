#include "tests/faults/programs/task.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <random>

namespace weir::faults {
namespace {

constexpr std::size_t kInputs = 32;
constexpr std::size_t kOutputs = 16;
constexpr std::size_t kSamples = 8;
constexpr float kNoise = 0.1f;

}  // namespace

Task::Task() {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  for (const auto& [name, shape] : {std::pair{"map", Shape{kOutputs, kInputs}},
                                    {"bias", Shape{kOutputs}},
                                    {"array", Shape{64, 64}}}) {
    const auto size = static_cast<std::size_t>(shape.elements());
    Array array{name, shape, std::vector<float>(size), std::vector<float>(size),
                std::vector<float>(size)};
    for (float& value : array.target) value = normal(random);
    arrays_.push_back(std::move(array));
  }
  first_distance_ = Distance();
}

std::vector<Parameter> Task::Parameters() {
  std::vector<Parameter> parameters;
  for (Array& array : arrays_) {
    parameters.push_back({.name = array.name,
                          .value = array.value,
                          .gradient = array.gradient,
                          .shape = array.shape});
  }
  return parameters;
}

void Task::Backward(std::int64_t step, int rank) {
  std::mt19937 random(static_cast<unsigned>(step * 1009 + rank));
  std::normal_distribution<float> normal;
  Array &map = arrays_[0], &bias = arrays_[1], &array = arrays_[2];
  std::ranges::fill(map.gradient, 0.0f);
  std::ranges::fill(bias.gradient, 0.0f);
  for (std::size_t sample = 0; sample < kSamples; ++sample) {
    std::array<float, kInputs> input;
    for (float& value : input) value = normal(random);
    for (std::size_t o = 0; o < kOutputs; ++o) {
      float error = bias.value[o] - bias.target[o] + kNoise * normal(random);
      for (std::size_t i = 0; i < kInputs; ++i) {
        error += (map.value[o * kInputs + i] - map.target[o * kInputs + i]) * input[i];
      }
      bias.gradient[o] += error / kSamples;
      for (std::size_t i = 0; i < kInputs; ++i) {
        map.gradient[o * kInputs + i] += error * input[i] / kSamples;
      }
    }
  }
  for (std::size_t i = 0; i < array.value.size(); ++i) {
    array.gradient[i] = array.value[i] - array.target[i] + kNoise * normal(random);
  }
}

void Task::FillGradients(float value) {
  for (Array& array : arrays_) std::ranges::fill(array.gradient, value);
}

double Task::Distance() const {
  double sum = 0.0;
  for (const Array& array : arrays_) {
    for (std::size_t i = 0; i < array.value.size(); ++i) {
      const double difference = static_cast<double>(array.value[i]) - array.target[i];
      sum += difference * difference;
    }
  }
  return sum;
}

double Task::Loss() const { return Distance() / first_distance_; }

std::uint64_t Task::Hash() const {
  std::uint64_t hash = kHashOfNothing;
  for (const Array& array : arrays_) hash = HashOf(array.value, hash);
  return hash;
}

std::uint64_t HashOf(const std::vector<float>& values, std::uint64_t hash) {
  for (const float value : values) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    for (int byte = 0; byte < 4; ++byte) hash = (hash ^ (bits >> 8 * byte & 0xff)) * 1099511628211u;
  }
  return hash;
}

}  // namespace weir::faults
