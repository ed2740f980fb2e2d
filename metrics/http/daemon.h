#pragma once

#include <microhttpd.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "common/unique_fd.h"
#include "metrics/http/certificate.h"
#include "metrics/http/pages.h"
#include "metrics/http/reader.h"
#include "metrics/http/readers.h"
#include "metrics/http/workers.h"

namespace weir {

/// Speaks HTTP with all readers, by GNU libmicrohttpd, on the thread that calls Run; pages
/// are made on threads of their own. The caller listens and waits. Not thread-safe; the
/// destructor must follow the last call.
class HttpDaemon {
 public:
  /// Calls `wake`, on any thread, when an answer has been made. Throws InvalidArgument when the
  /// process is out of descriptors.
  HttpDaemon(HttpPages pages, const std::optional<HttpCertificate>& certificate,
             std::function<void()> wake);
  /// Waits for answers that are being made, and ends all connections.
  ~HttpDaemon();
  HttpDaemon(const HttpDaemon&) = delete;
  HttpDaemon& operator=(const HttpDaemon&) = delete;

  /// Becomes readable when Run has something to do.
  int fd() const;
  /// Milliseconds after which Run has something to do anyway; -1: never.
  int TimeoutMs() const;
  /// Does all work that needs no waiting.
  void Run();
  /// Accepts a waiting connection. False, with errno: there is none, or no descriptor for it.
  bool Accept(const UniqueFd& listener);
  /// Closes the connection that has been idle longest, at the next Run.
  /// False when all are being answered.
  bool GiveUpIdlest() { return readers_.GiveUpIdlest(); }

 private:
  static HttpReader& ReaderOf(MHD_Connection* connection);
  static void OnConnection(void* self, MHD_Connection* connection, void** reader,
                           MHD_ConnectionNotificationCode what);
  static void* OnTarget(void* self, const char* target, MHD_Connection* connection);
  static MHD_Result OnRequest(void* self, MHD_Connection* connection, const char* path,
                              const char* method, const char* version, const char* body,
                              std::size_t* body_bytes, void** unused);
  static ssize_t OnRoom(void* reader, std::uint64_t position, char* room, std::size_t bytes);
  MHD_Result Look(HttpReader& reader, const char* method);
  MHD_Result Send(HttpReader& reader);

  const HttpPages pages_;
  const std::function<void()> wake_;
  HttpReaders readers_;
  MHD_Daemon* daemon_ = nullptr;
  std::optional<HttpWorkers> workers_;
};

}  // namespace weir
