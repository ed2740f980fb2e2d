#include "launcher/output/output_collector.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>

#include <algorithm>

namespace weir::launcher {

using supervision::Message;
using supervision::MessageType;
using Clock = std::chrono::steady_clock;

OutputCollector::OutputCollector(const OutputOptions& options, int ranks)
    : writer_(options, ranks), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
  pthread_setname_np(thread_.native_handle(), "weirrun-output");
}

OutputCollector::~OutputCollector() {
  thread_.request_stop();
  Wake();
}

void OutputCollector::Add(int rank, supervision::MessageSocket connection) {
  {
    const std::lock_guard lock(mutex_);
    new_sources_.push_back({rank, std::move(connection)});
  }
  Wake();
}

bool OutputCollector::Finish(std::chrono::milliseconds patience) {
  give_up_ = Clock::now() + patience;
  finishing_ = true;
  Wake();
  thread_.join();
  return !writer_.lost();
}

void OutputCollector::Run(const std::stop_token& stop) {
  std::vector<Source> sources;
  while (!stop.stop_requested()) {
    {
      const std::lock_guard lock(mutex_);
      for (Source& source : new_sources_) sources.push_back(std::move(source));
      new_sources_.clear();
    }
    if (finishing_ && (sources.empty() || Clock::now() > give_up_.load())) break;
    std::vector<pollfd> fds = {{wake_.get(), POLLIN, 0}};
    for (const Source& source : sources) fds.push_back({source.connection.fd(), POLLIN, 0});
    if (poll(fds.data(), fds.size(), finishing_ ? 50 : -1) <= 0) continue;
    eventfd_t ignored = 0;
    if (fds[0].revents != 0) eventfd_read(wake_.get(), &ignored);
    for (std::size_t i = 0; i < sources.size(); ++i) {
      if (fds[i + 1].revents != 0) Write(sources[i].rank, sources[i].connection.Receive());
    }
    std::erase_if(sources, [](const Source& source) { return !source.connection.open(); });
  }
  writer_.Finish();
}

void OutputCollector::Write(int rank, const std::vector<Message>& messages) {
  for (const Message& message : messages) {
    if (message.type == MessageType::kOutput) writer_.Write(rank, message.code, message.text);
  }
}

void OutputCollector::Wake() { eventfd_write(wake_.get(), 1); }

}  // namespace weir::launcher
