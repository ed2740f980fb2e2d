// What weirrun tells the process that it starts on a host, as that process reads it from its stdin.
#include "launcher/start/host_job.h"

#include "tests/fuzz/fuzz_target.h"
#include "weir/error.h"

namespace weir::fuzz {

using launcher::DecodeHostJob;
using launcher::EncodeHostJob;
using launcher::HostJob;
using launcher::HostJobBytes;
using launcher::kHostJobHeader;

void Run(std::span<const std::byte> bytes) {
  const std::string text = Input(bytes).Text();
  const std::string header = text.substr(0, kHostJobHeader);
  std::size_t length = 0;
  if (!Accepts<Corrupt>([&] { length = HostJobBytes(header); })) return;
  HostJob job;
  const std::string rest = text.substr(header.size(), length);
  if (!Accepts<Corrupt>([&] { job = DecodeHostJob(rest); })) return;
  WEIR_CHECK(!job.command.empty() && static_cast<std::size_t>(job.servers) <= job.hosts.size());
  const HostJob again = DecodeHostJob(EncodeHostJob(job).substr(kHostJobHeader));
  WEIR_CHECK(again.hosts == job.hosts && again.environment == job.environment &&
             again.command == job.command && again.server == job.server &&
             again.token == job.token && again.folder == job.folder);
}

std::vector<Bytes> Seeds() {
  return {Seed({}, EncodeHostJob({.addresses = "127.0.0.1:1234",
                                  .token = "0123456789abcdef",
                                  .grace_seconds = "3.0",
                                  .folder = "/tmp",
                                  .servers = 1,
                                  .hosts = {"a", "b", "b"},
                                  .environment = {"A=1", "B=two words"},
                                  .command = {"python", "train.py"},
                                  .server = {"weir-server"}})),
          Seed({}, EncodeHostJob({.hosts = {"a"}, .command = {"true"}}))};
}

}  // namespace weir::fuzz
