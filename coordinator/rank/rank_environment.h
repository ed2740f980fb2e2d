#pragma once

#include <functional>
#include <memory>
#include <string>

#include "coordinator/work/network_speed.h"
#include "metrics/flight_recording.h"
#include "metrics/records/bucket_names.h"
#include "metrics/records/recorder.h"
#include "ops/membership/membership.h"
#include "ops/transport/transport.h"

namespace weir {

/// Means that a rank gets from its process. The network thread calls the functions.
struct RankEnvironment {
  std::function<std::unique_ptr<Transport>()> connect;
  /// Called when the network is not needed any more, before the transport is closed; may be empty.
  /// `failed`: other ranks may be dead, so it must not wait for them.
  std::function<void(bool failed)> disconnect;
  Membership* membership = nullptr;  ///< Null: nobody tells of other ranks' ends.
  Recorder* recorder = nullptr;
  BucketNames* names = nullptr;
  int local_size = 1;   ///< Ranks that share this host's cores.
  std::string hosts{};  ///< Hosts of the whole job, "a:2,b:1"; empty: unknown.
  NetworkSpeed::Bounds speed_bounds{};
  /// Records what a rank was doing when it fails or stalls; may be empty.
  std::function<void(int rank, int size, const FlightReport&)> record_flight;
};

}  // namespace weir
