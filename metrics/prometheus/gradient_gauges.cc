#include "metrics/prometheus/gradient_gauges.h"

#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <string>

namespace weir {
namespace {

/// Keeps the float's shortest digits: a scrape shows 0.001, not 0.0010000000474974513.
double AsWritten(float value) {
  std::array<char, 32> text{};
  const char* const end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  double number = 0.0;
  std::from_chars(text.data(), end, number);
  return number;
}

}  // namespace

void GradientGauges::Add(const StageRecord& record) {
  if (gradients_.size() <= record.bucket) gradients_.resize(record.bucket + 1);
  Gradient& gradient = gradients_[record.bucket];
  if (gradient.info == nullptr) gradient.info = &names_.Find(record.bucket);
  if (record.stage == Stage::kResidual) {
    gradient.residual_ratio = record.density;
  } else {
    gradient.newest = record;
  }
}

void GradientGauges::Publish() {
  struct Group {
    double entries = 0;
    double density = 0;
    double threshold = 0;
    double measured_entries = 0;
    double squared_residual = 0;
  };
  std::map<std::string, Group> groups;
  for (Gradient& gradient : gradients_) {
    const bool compressed = gradient.info != nullptr && gradient.info->compressor != "none";
    if (!compressed || gradient.newest.bytes_in == 0) continue;
    Group& group = groups[gradient.info->group];
    const auto entries = static_cast<double>(gradient.info->elements);
    group.entries += entries;
    group.density += entries * static_cast<double>(gradient.newest.density);
    group.threshold += entries * static_cast<double>(gradient.newest.threshold);
    if (gradient.residual_ratio >= 0.0f) {
      group.measured_entries += entries;
      group.squared_residual += entries * std::pow(static_cast<double>(gradient.residual_ratio), 2);
    }
    if (per_tensor_) PublishTensor(gradient);
  }
  for (const auto& [name, group] : groups) {
    families_.density.Add({{"group", name}}).Set(group.density / group.entries);
    families_.threshold.Add({{"group", name}}).Set(group.threshold / group.entries);
    if (group.measured_entries > 0) {
      families_.residual_norm.Add({{"group", name}})
          .Set(std::sqrt(group.squared_residual / group.measured_entries));
    }
  }
}

void GradientGauges::PublishTensor(Gradient& gradient) {
  if (gradient.density == nullptr) {
    if (tensors_ == kMaxPerTensor) return;
    ++tensors_;
    const prometheus::Labels labels = {{"tensor", gradient.info->name}};
    gradient.density = &families_.tensor_density.Add(labels);
    gradient.threshold = &families_.tensor_threshold.Add(labels);
  }
  gradient.density->Set(AsWritten(gradient.newest.density));
  gradient.threshold->Set(AsWritten(gradient.newest.threshold));
}

}  // namespace weir
