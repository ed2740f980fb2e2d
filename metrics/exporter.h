#pragma once

#include <prometheus/registry.h>

#include <functional>
#include <memory>
#include <string>

#include "metrics/gauge_collector.h"
#include "metrics/http_server.h"

namespace weir {

/// Serves a registry and the engine's gauges in Prometheus's text format under /metrics, "ok" under
/// /healthz, and a page of JSON that says what runs here under /run. Thread-safe. `registry` and
/// the collector's gauges must outlive it.
class Exporter {
 public:
  /// `before_scrape` brings the registry up to date; it is called from the server's threads,
  /// perhaps from several at once. Throws what HttpServer throws.
  Exporter(const HttpServer::Options& options, const prometheus::Registry& registry,
           GaugeCollector collector, std::string run_page, std::function<void()> before_scrape);

  int port() const { return server_.port(); }

 private:
  HttpResponse Scrape() const;

  const prometheus::Registry& registry_;
  const GaugeCollector collector_;
  const std::string run_page_;
  const std::function<void()> before_scrape_;
  HttpServer server_;
};

}  // namespace weir
