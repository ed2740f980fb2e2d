#include "ops/bootstrap.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "ops/local/transport.h"
#include "ops/mpi/session.h"
#include "ops/mpi/transport.h"
#include "ops/ucx/addresses.h"
#include "ops/ucx/channel.h"
#include "ops/ucx/context.h"
#include "ops/ucx/transport.h"
#include "ops/ucx/worker.h"
#include "weir/error.h"

namespace weir {

namespace {

/// True if MPI's launcher says that there are several ranks, or leaves it to be asked.
bool MpiHasSeveralRanks() {
  const char* size = std::getenv("PMI_SIZE");
  return size == nullptr ? StartedByMpi() : std::string_view(size) != "1";
}

/// True if all ranks are known to be here.
bool OnOneHost(const std::optional<Launch>& launch) {
  if (launch) return launch->local_size == launch->ranks;
  const char* const here = std::getenv("MPI_LOCALNRANKS");
  const char* const all = std::getenv("PMI_SIZE");
  return here != nullptr && all != nullptr && std::string_view(here) == all;
}

}  // namespace

bool StartedByMpi() {
  // Of Hydra (MPICH, Intel MPI) and Slurm; PMI-2 and PMIx have no variable for the size.
  return std::ranges::any_of(std::array{"PMI_SIZE", "PMI_FD"},
                             [](const char* name) { return std::getenv(name) != nullptr; });
}

Bootstrap::Bootstrap(const Settings& settings, std::optional<Launch> launch, Rendezvous* rendezvous)
    : launch_(std::move(launch)), rendezvous_(rendezvous) {
  const bool by_others = launch_ && launch_->ranks > 1;
  if (!by_others && (launch_ || !MpiHasSeveralRanks())) return;
  // weirrun starts ranks by MPI's launcher or without, torchrun perhaps under it.
  const bool auto_is_ucx = by_others && (launch_->by != Launch::kWeirrun || !StartedByMpi());
  if (settings.transport == TransportKind::kMpi ||
      (settings.transport == TransportKind::kAuto && !auto_is_ucx)) {
    // MPI alone would leave files in /dev/shm.
    if (by_others && !StartedByMpi() && std::getenv("PMIX_RANK") == nullptr) ThrowAlone(1);
    session_ = std::make_shared<mpi::Session>();
    return;
  }
  if (rendezvous == nullptr) {
    throw InvalidArgument(
        "the ranks of a job over UCX (WEIR_TRANSPORT=ucx) meet by weirrun, torchrun or srun, and "
        "mpiexec has started this one: start the program with weirrun, or take WEIR_TRANSPORT=mpi");
  }
  const ucx::Library library = ucx::Library::Load(settings.ucx_library);
  ucx_version_ = library.version();
  ucx_name_ = library.name();
  on_one_host_ = OnOneHost(launch_);
  context_ = std::make_shared<ucx::Context>(
      library, on_one_host_ ? ucx::Reach::kThisHost : ucx::Reach::kOtherHosts);
}

Bootstrap::~Bootstrap() = default;

std::unique_ptr<Transport> Bootstrap::Connect(std::chrono::milliseconds timeout) {
  if (session_) {
    auto network = std::make_unique<mpi::Transport>(session_, timeout);
    const char* const told = std::getenv("PMI_SIZE");
    if (!launch_ && told != nullptr && *told != '\0' && network->size() == 1 &&
        std::string_view(told) != "1") {
      throw InvalidArgument(std::string("PMI_SIZE=") + told +
                            " says that this process is one of several, and MPI finds it alone: "
                            "its launcher is of another MPI, or not all of its variables were "
                            "passed on. Start the program with weirrun");
    }
    if (!launch_ || network->size() == launch_->ranks) return network;
    ThrowAlone(network->size());
  }
  if (context_) {
    // Data of seconds may be on their way to another host.
    std::vector<std::unique_ptr<ucx::Worker>> workers(on_one_host_ ? 1 : 2);
    std::vector<std::string> own;
    for (auto& worker : workers) {
      worker = std::make_unique<ucx::Worker>(context_);
      own.push_back(worker->Address());
    }
    const Rendezvous::Meeting meeting =
        rendezvous_->Meet(ucx::AddressText(ucx_version_, own), timeout);
    auto addresses = ucx::ReadAddressTexts(meeting.addresses);
    std::vector<std::unique_ptr<ucx::Channel>> channels;
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      channels.push_back(
          std::make_unique<ucx::Channel>(std::move(workers[i]), std::move(addresses[i])));
    }
    return std::make_unique<ucx::Transport>(std::move(channels), meeting.rank,
                                            "UCX " + ucx_version_ + " (" + ucx_name_ + ")");
  }
  return local::Network(1).Endpoint(0);
}

void Bootstrap::ThrowAlone(int ranks) const {
  throw InvalidArgument(launch_->by + " started " + std::to_string(launch_->ranks) +
                        " ranks, and MPI finds " + std::to_string(ranks) +
                        ": they have no way to each other. Take WEIR_TRANSPORT=ucx, or a launcher "
                        "of this MPI (weirrun, mpiexec, srun --mpi=pmi2)");
}

void Bootstrap::Abandon() {
  if (session_) session_->Abandon();
}

}  // namespace weir
