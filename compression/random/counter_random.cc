#include "compression/random/counter_random.h"

#include <xxhash.h>

namespace weir {

CounterRandom::CounterRandom(std::uint64_t seed, std::string_view tensor) {
  const std::uint64_t key = XXH3_64bits_withSeed(tensor.data(), tensor.size(), seed);
  key_ = {static_cast<std::uint32_t>(key), High(key)};
}

}  // namespace weir
