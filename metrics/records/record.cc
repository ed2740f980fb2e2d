#include "metrics/records/record.h"

#include <array>

#include "common/check.h"

namespace weir {

const char* Name(Stage stage) {
  constexpr std::array<const char*, kStageCount> kNames = {
      "queue",  "negotiate", "pack",  "compress", "exchange", "merge",
      "unpack", "step",      "round", "gradient", "residual"};
  const auto index = static_cast<std::size_t>(stage);
  WEIR_CHECK(index < kNames.size());
  return kNames[index];
}

}  // namespace weir
