#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/supervision/doorkeeper.h"
#include "common/supervision/message_socket.h"
#include "common/unique_fd.h"
#include "ops/hub/hub.h"

namespace weir {

/// The job's hub (hub.h) at a TCP port, on a thread of its own in the process of rank 0. Takes one
/// connection of each rank; who does not prove that it knows the job's token is sent away, counted,
/// and named in the log. A connection that closes, or is silent for 10 s, is a rank that is lost.
class HubServer {
 public:
  struct Options {
    std::string address = "127.0.0.1";  ///< Of this host; "0.0.0.0": all of them.
    std::uint16_t port = 0;             ///< 0: any free one.
    std::size_t ranks = 1;
    std::string token;
    std::chrono::milliseconds start_timeout{30000};
  };

  /// Throws InvalidArgument when the port is taken, or the process is out of descriptors.
  explicit HubServer(Options options);
  /// Waits, for 2 s at most, for ranks that still have to leave.
  ~HubServer();
  HubServer(const HubServer&) = delete;
  HubServer& operator=(const HubServer&) = delete;

  std::uint16_t port() const { return port_; }

 private:
  using Time = Hub::Time;
  struct Peer {
    supervision::MessageSocket socket;
    Time last_heard;
  };

  void Run();
  bool Done(Time now);
  void Wait(Time now);
  void BeginStop(Time now);
  void Accept(Time now);
  /// Takes the connection of a rank, or refuses it.
  void Welcome(supervision::Doorkeeper::Guest guest, Time now);
  void OnPeer(int rank, Time now);
  void OnTime(Time now);
  void Send(int rank, const supervision::Message& message);

  const Options options_;
  UniqueFd listener_;
  const std::uint16_t port_;
  UniqueFd stop_;  ///< An eventfd.
  supervision::Doorkeeper door_;
  std::vector<std::unique_ptr<Peer>> peers_;  ///< By rank.
  Hub hub_;
  Time next_heartbeat_;
  bool stopping_ = false;
  Time accepts_from_;  ///< Later than now: the process is out of descriptors.
  Time stops_by_;
  std::jthread thread_;  ///< Last member, as it uses everything above.
};

}  // namespace weir
