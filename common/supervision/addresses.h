#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

/// The addresses of all ranks' networks, as weirrun sends them to each: by rank, in as many
/// messages (kAddresses) as it takes. Each address is its length as u32, then its bytes.
namespace weir::supervision {

/// The longest address, in bytes. A rank has up to two workers of UCX, each with a few hundred.
inline constexpr std::size_t kMaxAddress = 8192;

/// Returns the texts of the messages, at least one. Each address is at most kMaxAddress long.
std::vector<std::string> AddressTexts(const std::vector<std::string>& addresses);

/// Appends what a text holds to the addresses of lower ranks. Throws Corrupt, and changes nothing,
/// when it is not such a text, an address is too long, or there would be more than `ranks`.
void AppendAddresses(std::string_view text, std::size_t ranks, std::vector<std::string>& addresses);

}  // namespace weir::supervision
