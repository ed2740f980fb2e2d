#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/supervision/supervision.h"

/// How both ends of a connection show each other that they know the job's token. Neither sends it:
///
///     who asks                                            who listens
///     kHello or kOutputHello [text = nonce]  ->
///                                            <-  kChallenge [text = nonce]
///     kProof [text = proof]                  ->
///                                            <-  kProof [text = proof]
///
/// A proof is the HMAC-SHA-256, by the token, of the end that gives it, the service, and both
/// messages with a nonce. It is worth nothing at the other end, in another connection, or at
/// another service. Who listens proves last, so that strangers get nothing to guess the token by.
///
/// The numbers and the layout of these messages, and of kAbort, stay the same in all versions of
/// the protocol, so that two versions can still say that they differ.
namespace weir::supervision {

/// What both ends have to know.
struct Secret {
  static Secret OfWeirrun(std::string token) { return {std::move(token), "weirrun"}; }
  /// Of the hub at a port. Jobs may have a token in common, but no port.
  static Secret OfHub(std::string token, std::uint16_t port) {
    return {std::move(token), "hub at " + std::to_string(port)};
  }

  std::string token;
  std::string service;  ///< What is to be reached.
};

/// An end of a connection.
enum class End : char { kAsks = 'a', kListens = 'l' };

inline constexpr std::size_t kNonceBytes = 32;
inline constexpr std::size_t kProofBytes = 32;

/// Returns the proof of an end. Thread-safe.
std::string Proof(const Secret& secret, End end, const Message& hello, const Message& challenge);

/// True if `text` is that proof. Takes as long wherever the first difference is. Thread-safe.
bool IsProof(std::string_view text, const Secret& secret, End end, const Message& hello,
             const Message& challenge);

/// Returns a nonce: kNonceBytes characters that nobody can guess. Throws InvalidArgument when the
/// system has no random numbers. Thread-safe.
std::string Nonce();

}  // namespace weir::supervision
