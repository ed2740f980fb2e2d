#pragma once

#include <cstddef>
#include <span>

#include "compression/options/policy.h"

namespace weir {

/// Predictions of what a step takes, from what its parts take. Pure functions; seconds and bytes.

/// A network between hosts that are all alike: what each of them sends, and at the same time
/// receives. A message takes `seconds_per_message + bytes / bytes_per_second`.
struct HostLink {
  double seconds_per_message = 0.0;
  double bytes_per_second = 0.0;  ///< In each direction.
};

/// Ranks, and the hosts that they share equally.
struct EqualHosts {
  int hosts = 1;
  int ranks_per_host = 1;

  int ranks() const { return hosts * ranks_per_host; }
};

/// What an exchange carries.
struct ExchangeBytes {
  std::size_t dense = 0;    ///< Of the uncompressed bucket.
  std::size_t payload = 0;  ///< Of what one rank sends of it to another.
};

/// Returns the bytes that leave a host in an exchange. A host's ranks reach each other without its
/// link.
double BytesSent(WireRoute route, const EqualHosts& places, const ExchangeBytes& bytes);

/// Returns how long an exchange lasts on an idle network, from the last rank's start. Weir's
/// collectives send directly to every rank (docs/explanation/dense-allreduce.md). All messages of a
/// phase leave side by side, so a gather has the latency of one message, a reduction that of two.
double ExchangeSeconds(WireRoute route, const EqualHosts& places, const HostLink& link,
                       const ExchangeBytes& bytes);

/// One bucket in a step.
struct BucketTimes {
  double ready = 0.0;     ///< When its last gradient is there, since the step's begin.
  double encode = 0.0;    ///< Pack and Compress.
  double exchange = 0.0;  ///< On an idle network.
  double decode = 0.0;    ///< Relay, Merge and Unpack.
};

/// What a step's buckets take together.
struct StepTimes {
  double end = 0.0;      ///< When the last result is there, since the step's begin.
  double ready = 0.0;    ///< When the last gradient is.
  double network = 0.0;  ///< Sum of all exchanges.
  double exposed() const { return end - ready; }
};

/// Returns the timeline of the buckets in the order in which they are exchanged (Wang et al.,
/// Espresso, EuroSys 2023). B is when each is ready; c, t and d are what encoding, exchange and
/// decoding take:
///
///   C_i = max(C_{i-1}, B_i) + c_i
///   N_i = max(N_{i-1}, C_i) + t_i
///   D_i = max(D_{i-1}, N_i) + d_i
///
/// So the step never takes less when a part takes longer. Encoding and decoding share a worker,
/// which this leaves out.
StepTimes TimelineOf(std::span<const BucketTimes> buckets);

}  // namespace weir
