// A rank for the tests of weirrun: exchanges data without end over the job's network, listens to
// its membership, prints what it learns, and does on request what real ranks do by accident.
//
// usage: rank_program [ACTOR DEED]     DEED of rank ACTOR, of all ranks with "all"

#include <mpi.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include "coordinator/engine/engine_impl.h"
#include "coordinator/engine/process_environment.h"
#include "ops/membership/membership.h"
#include "ops/transport/transport.h"
#include "tests/launcher/programs/say.h"
#include "weir/error.h"

namespace {

using weir::MembershipEvent;
using weir::Say;
using weir::SaySharedMemory;

std::atomic<bool> over{false};

void OnEvent(const MembershipEvent& event, weir::Membership& membership, int rank) {
  using Kind = MembershipEvent::Kind;
  switch (event.kind) {
    case Kind::kPeerLost:
      Say("lost rank " + std::to_string(event.rank) + " on " + event.host + ": " + event.text);
      over = true;
      over.notify_all();
      break;
    case Kind::kAbort:
      Say("aborted by rank " + std::to_string(event.rank) + ": " + event.text);
      over = true;
      over.notify_all();
      break;
    case Kind::kLauncherLost:
      Say("launcher lost");
      over = true;
      over.notify_all();
      break;
    case Kind::kStatusRequest:
      membership.SendStatus("status of " + std::to_string(rank));
      break;
    case Kind::kHostsUpdated:
      Say("hosts come or go");
      break;
    case Kind::kRecordFlight:
      Say("asked for flight recording " + std::to_string(event.number));
      break;
    case Kind::kStatus:
      Say("got " + event.text + " from " + std::to_string(event.rank));
      break;
  }
}

/// Sends to all ranks and receives from them, once, or until something is heard.
void ExchangeOnce(weir::Transport& network, std::vector<std::byte>& sent,
                  std::vector<std::byte>& received) {
  std::vector<weir::Transport::Request> requests;
  for (int peer = 0; peer < network.size(); ++peer) {
    requests.push_back(network.Receive(peer, {}, received));
    requests.push_back(network.Send(peer, {}, sent));
  }
  for (const weir::Transport::Request request : requests) {
    while (!over && !network.Test(request)) sched_yield();
  }
}

/// Does so until something is heard. The network may report the dead itself, or leave those that
/// wait for them waiting.
void Exchange(weir::Transport& network) {
  std::vector<std::byte> sent(1 << 18);
  std::vector<std::byte> received(sent.size());
  while (!over) {
    try {
      ExchangeOnce(network, sent, received);
    } catch (const weir::PeerLost&) {
      over.wait(false);  // Who it was is heard from weirrun.
    }
  }
}

/// Waits until all ranks are there: one that has not met the others would hear of a deed by an
/// error of its start.
void Meet(weir::Transport& network) {
  std::vector<std::byte> sent(1);
  std::vector<std::byte> received(1);
  try {
    ExchangeOnce(network, sent, received);
  } catch (const weir::PeerLost&) {
    over.wait(false);
  }
}

void Do(const std::string& deed, weir::Membership& membership) {
  if (deed == "segv") {
    std::signal(SIGSEGV, SIG_DFL);  // A sanitizer's handler would exit instead.
    raise(SIGSEGV);
  }
  if (deed == "abort") std::abort();
  if (deed == "exit3") _exit(3);
  if (deed == "exit0") _exit(0);
  if (deed == "mpi-abort") MPI_Abort(MPI_COMM_WORLD, 5);
  if (deed == "engine-abort") {
    membership.Abort("the checksum of layer.0 is wrong");
    _exit(4);
  }
  if (deed == "leave") {
    membership.Leave();
    _exit(0);
  }
  if (deed == "stop") raise(SIGSTOP);
  if (deed == "status") membership.RequestStatus();
  if (deed == "linger") {
    std::signal(SIGTERM, SIG_IGN);
    Say("lingering");
    while (true) pause();
  }
}

}  // namespace

int main(int argc, char** argv) {
  const weir::EngineEnvironment job = weir::ProcessEnvironment(weir::Settings::FromEnvironment());
  const std::unique_ptr<weir::Transport> network = job.connect();
  const int rank = network->rank();
  job.membership->Joined();
  job.membership->Listen(
      [&](const MembershipEvent& event) { OnEvent(event, *job.membership, rank); });
  SaySharedMemory();
  Say("rank " + std::to_string(rank) + " is process " + std::to_string(getpid()));
  Meet(*network);
  const std::string actor = argc > 2 ? argv[1] : "";
  if (actor == "all" || actor == std::to_string(rank)) Do(argv[2], *job.membership);
  if (argc > 2 && argv[2] == std::string("leave")) {
    job.membership->Leave();
    _exit(0);
  }
  Exchange(*network);
  Say("rank " + std::to_string(rank) + " ends");
  job.membership->Listen(nullptr);
  _exit(1);  // A network that is left in good order would wait for the dead.
}
