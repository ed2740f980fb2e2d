#pragma once

#include <prometheus/registry.h>

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "metrics/http/http_server.h"
#include "metrics/prometheus/gauge_collector.h"

namespace weir {

/// Serves a registry and the engine's gauges in Prometheus's text format under /metrics, "ok"
/// under /healthz, and other pages. Thread-safe. `registry`, the collector's gauges and the
/// data of the pages must outlive it.
class Exporter {
 public:
  /// `pages`: by path. `before_scrape` brings the registry up to date; the server's threads call
  /// it, perhaps several at once. Throws as HttpServer does.
  Exporter(const HttpServer::Options& options, const prometheus::Registry& registry,
           GaugeCollector collector, std::map<std::string, HttpServer::Handler> pages,
           std::function<void()> before_scrape);

  int port() const { return server_.port(); }

 private:
  std::map<std::string, HttpServer::Handler> WithOwn(
      std::map<std::string, HttpServer::Handler> pages) const;
  HttpResponse Scrape() const;

  const prometheus::Registry& registry_;
  const GaugeCollector collector_;
  const std::function<void()> before_scrape_;
  HttpServer server_;
};

}  // namespace weir
