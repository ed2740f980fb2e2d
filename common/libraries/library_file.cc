#include "common/libraries/library_file.h"

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace weir {

std::string DamageOf(const std::string& path) {
  std::error_code trouble;
  if (!std::filesystem::exists(path, trouble)) return {};
  if (!std::filesystem::is_regular_file(path, trouble)) return path + " is not a file";
  const std::uint64_t bytes = std::filesystem::file_size(path, trouble);
  if (trouble) return {};
  Elf64_Ehdr header{};
  std::ifstream file(path, std::ios::binary);
  if (!file.read(reinterpret_cast<char*>(&header), sizeof header)) return {};
  const bool is_elf = std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0;
  if (!is_elf || header.e_ident[EI_CLASS] != ELFCLASS64) return {};
  // The table of sections is the last part that linkers write.
  const std::uint64_t table = std::uint64_t{header.e_shnum} * header.e_shentsize;
  if (header.e_shoff <= bytes && table <= bytes - header.e_shoff) return {};
  return path + " is cut off after " + std::to_string(bytes) + " bytes: copy it again";
}

}  // namespace weir
