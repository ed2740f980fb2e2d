#pragma once

#include <prometheus/registry.h>

#include <functional>
#include <memory>

#include "metrics/gauge_collector.h"
#include "metrics/http_server.h"

namespace weir {

/// Serves a registry and the engine's gauges in Prometheus's text format under /metrics, and "ok"
/// under /healthz. Thread-safe. `registry` and the collector's gauges must outlive it.
class Exporter {
 public:
  /// `before_scrape` brings the registry up to date; it is called from the server's threads,
  /// perhaps from several at once. Throws what HttpServer throws.
  Exporter(const HttpServer::Options& options, const prometheus::Registry& registry,
           GaugeCollector collector, std::function<void()> before_scrape);

  int port() const { return server_.port(); }

 private:
  HttpResponse Scrape() const;

  const prometheus::Registry& registry_;
  const GaugeCollector collector_;
  const std::function<void()> before_scrape_;
  HttpServer server_;
};

}  // namespace weir
