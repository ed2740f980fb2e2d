#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "common/supervision/supervision.h"
#include "common/unique_fd.h"

namespace weir {

/// The supervisor's end of the socket.
class FakeSupervisor {
 public:
  FakeSupervisor() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    own_.reset(ends[0]);
    engine_.reset(ends[1]);
  }
  UniqueFd TakeEngineEnd() { return std::move(engine_); }
  int engine_end() const { return engine_.get(); }
  void Tell(const supervision::Message& message) { TellBytes(Encode(message)); }
  void TellBytes(const std::string& bytes) {
    ASSERT_EQ(send(own_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  // Pulses may come at any time, and are not heard.
  supervision::Message Hear() {
    const std::optional<std::string> packet = Next(0);
    EXPECT_TRUE(packet && !packet->empty());
    return supervision::Decode(packet.value_or(""));
  }
  bool HearsNothing() { return !Next(MSG_PEEK | MSG_DONTWAIT); }
  bool HearsTheEnd() { return Next(MSG_PEEK | MSG_DONTWAIT) == ""; }
  void Die() { own_.reset(); }
  /// Sets weirrun's variables for the engine in this process.
  void SetEnvironment(int version = supervision::kVersion) const {
    setenv(supervision::kEngineFdVariable, std::to_string(engine_end()).c_str(), 1);
    setenv(supervision::kProtocolVariable, std::to_string(version).c_str(), 1);
  }
  static void UnsetEnvironment() {
    unsetenv(supervision::kEngineFdVariable);
    unsetenv(supervision::kProtocolVariable);
  }

 private:
  /// Returns the next packet that is no pulse: "" at the end, nothing if there is none.
  std::optional<std::string> Next(int flags) {
    while (true) {
      std::string packet(supervision::kMaxFrame, '\0');
      const ssize_t n = recv(own_.get(), packet.data(), packet.size(), flags);
      if (n < 0) return {};
      packet.resize(static_cast<std::size_t>(n));
      const bool pulse =
          n > 0 && supervision::Decode(packet).type == supervision::MessageType::kPulse;
      if (!pulse) return packet;
      if ((flags & MSG_PEEK) != 0) recv(own_.get(), packet.data(), packet.size(), 0);
    }
  }

  UniqueFd own_;
  UniqueFd engine_;
};

}  // namespace weir
