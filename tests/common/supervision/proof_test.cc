#include "common/supervision/proof.h"

#include <gtest/gtest.h>

#include <iomanip>
#include <sstream>
#include <string>
#include <vector>

namespace weir::supervision {
namespace {

const Secret kHubSecret = Secret::OfHub("secret", 24310);
const Message kProofHello{.type = MessageType::kHello,
                          .rank = 1,
                          .code = 9,
                          .host = "node-b",
                          .text = std::string(kNonceBytes, 'a')};
const Message kProofChallenge{
    .type = MessageType::kChallenge, .code = 9, .text = std::string(kNonceBytes, 'b')};

// By Python's hmac over the text that proof.cc describes.
TEST(Proof, IsTheHmacOfBothMessages) {
  std::ostringstream hex;
  for (const char byte : Proof(kHubSecret, End::kAsks, kProofHello, kProofChallenge)) {
    hex << std::hex << std::setw(2) << std::setfill('0') << (static_cast<int>(byte) & 255);
  }
  EXPECT_EQ(hex.str(), "51e774b5f2aac6524adccdede23c36979ff65ac2927e0d2eb6ab86e22a690618");
}

TEST(Proof, HoldsForWhatItIsOfAlone) {
  const std::string proof = Proof(kHubSecret, End::kAsks, kProofHello, kProofChallenge);
  EXPECT_EQ(proof.size(), kProofBytes);
  EXPECT_TRUE(IsProof(proof, kHubSecret, End::kAsks, kProofHello, kProofChallenge));
  EXPECT_FALSE(IsProof(proof, kHubSecret, End::kListens, kProofHello, kProofChallenge))
      << "reflected";
  EXPECT_FALSE(
      IsProof(proof, Secret::OfHub("Secret", 24310), End::kAsks, kProofHello, kProofChallenge));
  EXPECT_FALSE(
      IsProof(proof, Secret::OfHub("secret", 24311), End::kAsks, kProofHello, kProofChallenge));
  EXPECT_FALSE(
      IsProof(proof, Secret::OfWeirrun("secret"), End::kAsks, kProofHello, kProofChallenge));
  std::vector<Message> others(5, kProofHello);
  others[0].type = MessageType::kOutputHello;
  others[1].rank = 2;
  others[2].code = 10;
  others[3].host = "node-c";
  others[4].text.back() = 'c';
  for (const Message& other : others) {
    EXPECT_FALSE(IsProof(proof, kHubSecret, End::kAsks, other, kProofChallenge));
  }
  Message other = kProofChallenge;
  other.text.front() = 'c';
  EXPECT_FALSE(IsProof(proof, kHubSecret, End::kAsks, kProofHello, other)) << "replayed";
  EXPECT_FALSE(IsProof(proof.substr(1), kHubSecret, End::kAsks, kProofHello, kProofChallenge));
  EXPECT_FALSE(IsProof("", kHubSecret, End::kAsks, kProofHello, kProofChallenge));
}

TEST(Proof, NoncesDiffer) {
  EXPECT_EQ(Nonce().size(), kNonceBytes);
  EXPECT_NE(Nonce(), Nonce());
}

}  // namespace
}  // namespace weir::supervision
