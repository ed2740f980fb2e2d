#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compression/state/state.h"

namespace weir {

/// One rank's state of one tensor, with its parts put together again.
struct Kept {
  std::vector<float> unsent;    ///< Accumulated and not sent yet, as a worker.
  std::vector<float> momentum;  ///< As a worker.
  std::vector<float> served;    ///< Not answered yet, as a server; part of the mean.
  friend bool operator==(const Kept&, const Kept&) = default;
};

/// Reads the output of GradientGroup::Save; zeros where nothing is kept.
inline Kept KeptOf(const std::string& saved, const std::string& tensor, std::size_t elements) {
  Kept kept;
  for (auto* values : {&kept.unsent, &kept.momentum, &kept.served}) values->resize(elements);
  std::map<std::string, std::size_t> begins;
  std::size_t begin = 0;
  for (const SavedArray& array : Deserialize(std::as_bytes(std::span(saved))).arrays) {
    if (array.tensor.substr(0, array.tensor.find_first_of("# ")) != tensor) continue;
    // A rank has all parts as a worker, in order, before those that it serves.
    const std::string part = array.tensor.substr(0, array.tensor.find(' '));
    const auto [place, is_new] = begins.try_emplace(part, begin);
    if (is_new) begin += array.values.size();
    std::vector<float>* into = &kept.served;
    if (array.tensor == part) into = array.name == "momentum" ? &kept.momentum : &kept.unsent;
    for (std::size_t i = 0; i < array.values.size(); ++i) {
      into->at(place->second + i) += array.values[i];
    }
  }
  return kept;
}

}  // namespace weir
