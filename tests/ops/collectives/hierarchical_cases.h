#pragma once

#include <vector>

#include "ops/transport/transport.h"

/// Collectives that go host by host, on made-up hosts; as in collective_cases.h.
namespace weir::cases {

/// The host of each rank.
using Hosts = std::vector<int>;

/// Every type and operation, in place and not, small and large, against a reference in two levels;
/// where a flat exchange gives the same bits, against that.
void HierarchicalAllreduces(Transport& transport, const Hosts& hosts);
/// More chunks than the numbers of an MPI tag tell apart.
void LongHierarchicalAllreduces(Transport& transport, const Hosts& hosts);
/// Factors and averages that fp16 could not hold between the levels if applied separately.
void HierarchicalAllreducesOfHalves(Transport& transport, const Hosts& hosts);
void HierarchicalAllgathers(Transport& transport, const Hosts& hosts);
/// Frames of the hosts' first ranks, of different lengths and empty, come to every rank.
void HostFrameExchanges(Transport& transport, const Hosts& hosts);
/// One operation of several arrays, flat ones among them, all with the operation's number.
void HierarchicalGroups(Transport& transport, const Hosts& hosts);

}  // namespace weir::cases
