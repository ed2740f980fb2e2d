#include "common/supervision/random_token.h"

#include <sys/random.h>

#include <array>

#include "weir/error.h"

namespace weir::supervision {

std::string RandomToken() {
  std::array<unsigned char, 16> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw InvalidArgument("the system has no random numbers");
  }
  std::string token;
  for (const unsigned char byte : bytes) {
    token += "0123456789abcdef"[byte >> 4];
    token += "0123456789abcdef"[byte & 15];
  }
  return token;
}

}  // namespace weir::supervision
