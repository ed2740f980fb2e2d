#include "metrics/prometheus/exporter.h"

#include <prometheus/text_serializer.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace weir {

Exporter::Exporter(const HttpServer::Options& options, const prometheus::Registry& registry,
                   GaugeCollector collector, std::map<std::string, HttpServer::Handler> pages,
                   std::function<void()> before_scrape)
    : registry_(registry),
      collector_(std::move(collector)),
      before_scrape_(std::move(before_scrape)),
      server_(options, WithOwn(std::move(pages))) {}

std::map<std::string, HttpServer::Handler> Exporter::WithOwn(
    std::map<std::string, HttpServer::Handler> pages) const {
  pages["/metrics"] = [this](const std::string&) { return Scrape(); };
  pages["/healthz"] = [](const std::string&) { return HttpResponse{.body = "ok\n"}; };
  return pages;
}

HttpResponse Exporter::Scrape() const {
  before_scrape_();
  auto families = collector_.Collect();
  auto from_records = registry_.Collect();
  std::ranges::move(from_records, std::back_inserter(families));
  // A family without series would only be a help text.
  std::erase_if(families, [](const auto& family) { return family.metric.empty(); });
  return {.content_type = "text/plain; version=0.0.4; charset=utf-8",
          .body = prometheus::TextSerializer().Serialize(families)};
}

}  // namespace weir
