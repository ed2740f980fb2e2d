#include "common/supervision/proof.h"

#include <nettle/hmac.h>
#include <nettle/memops.h>

#include "common/supervision/random_token.h"

namespace weir::supervision {
namespace {

const std::uint8_t* BytesOf(std::string_view text) {
  return reinterpret_cast<const std::uint8_t*>(text.data());
}

}  // namespace

static_assert(kProofBytes == SHA256_DIGEST_SIZE);

std::string Proof(const Secret& secret, End end, const Message& hello, const Message& challenge) {
  std::string text = "weir proof ";
  text += static_cast<char>(end);
  text += '\0';
  text += secret.service;
  text += '\0';
  text += Encode(hello);
  text += Encode(challenge);
  hmac_sha256_ctx context;
  hmac_sha256_set_key(&context, secret.token.size(), BytesOf(secret.token));
  hmac_sha256_update(&context, text.size(), BytesOf(text));
  std::string proof(kProofBytes, '\0');
  hmac_sha256_digest(&context, proof.size(), reinterpret_cast<std::uint8_t*>(proof.data()));
  return proof;
}

bool IsProof(std::string_view text, const Secret& secret, End end, const Message& hello,
             const Message& challenge) {
  const std::string proof = Proof(secret, end, hello, challenge);
  return text.size() == proof.size() && memeql_sec(text.data(), proof.data(), proof.size()) != 0;
}

std::string Nonce() { return RandomToken(); }

}  // namespace weir::supervision
