// A rank for the tests of weirrun: exchanges data over MPI without end, listens to its membership,
// prints what it learns, and does on request what real ranks do by accident.
//
// usage: rank_program [ACTOR DEED]     DEED of rank ACTOR, of all ranks with "all"

#include <mpi.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include "ops/membership/supervisor_membership.h"
#include "tests/launcher/programs/say.h"

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
      break;
    case Kind::kAbort:
      Say("aborted by rank " + std::to_string(event.rank) + ": " + event.text);
      over = true;
      break;
    case Kind::kLauncherLost:
      Say("launcher lost");
      over = true;
      break;
    case Kind::kStatusRequest:
      membership.SendStatus("status of " + std::to_string(rank));
      break;
    case Kind::kRecordFlight:
      Say("asked for flight recording " + std::to_string(event.number));
      break;
    case Kind::kStatus:
      Say("got " + event.text + " from " + std::to_string(event.rank));
      break;
  }
}

/// All-reduces until something is heard. Not blocking: a dead peer is never reported by MPI.
void Exchange() {
  std::vector<float> data(1 << 18, 1.0F);
  std::vector<float> sum(data.size());
  while (!over) {
    MPI_Request request;
    MPI_Iallreduce(data.data(), sum.data(), static_cast<int>(data.size()), MPI_FLOAT, MPI_SUM,
                   MPI_COMM_WORLD, &request);
    for (int done = 0; done == 0 && !over; sched_yield()) {
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
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
  if (deed == "status") membership.RequestStatus();
  if (deed == "linger") {
    std::signal(SIGTERM, SIG_IGN);
    Say("lingering");
    while (true) pause();
  }
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const auto membership = weir::SupervisorMembership::FromEnvironment();
  membership->Joined();
  membership->Listen([&](const MembershipEvent& event) { OnEvent(event, *membership, rank); });
  MPI_Barrier(MPI_COMM_WORLD);
  SaySharedMemory();
  Say("rank " + std::to_string(rank) + " is process " + std::to_string(getpid()));
  const std::string actor = argc > 2 ? argv[1] : "";
  if (actor == "all" || actor == std::to_string(rank)) Do(argv[2], *membership);
  if (argc > 2 && argv[2] == std::string("leave")) {
    membership->Leave();
    _exit(0);
  }
  Exchange();
  Say("rank " + std::to_string(rank) + " ends");
  membership->Listen(nullptr);
  _exit(1);  // MPI_Finalize would wait for the dead.
}
