#include "metrics/pages/home_page.h"

#include <fmt/core.h>

#include "weir/version.h"

namespace weir {
namespace {

/// Escapes text between tags, or in a quoted attribute.
std::string Escaped(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

constexpr const char* kHead = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Weir: rank {0} of {1}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 40rem; margin: 3rem auto; padding: 0 1rem; }}
h1 {{ font-size: 1.4rem; }}
td {{ padding: 0.1rem 1.5rem 0.1rem 0; vertical-align: top; }}
</style>
</head>
<body>
<h1>Rank {0} of {1} on {2}</h1>
<p>A training job that exchanges its gradients with Weir {3}.</p>
<table>
<tr><td><a href="/metrics">/metrics</a></td><td>this rank's metrics, in Prometheus's text format</td></tr>
<tr><td><a href="/run">/run</a></td><td>who this rank is, and every setting, as JSON</td></tr>
<tr><td><a href="/targets">/targets</a></td><td>all ranks, for Prometheus's HTTP service discovery (rank 0)</td></tr>
<tr><td><a href="/stalls">/stalls</a></td><td>tensors that wait for ranks that have not submitted them, as JSON (rank 0)</td></tr>
<tr><td><a href="/events">/events</a></td><td>the newest records, a line of JSON each</td></tr>
<tr><td><a href="/log">/log</a></td><td>the newest blocks of this rank's run log: what weir-monitor and weir-top follow</td></tr>
<tr><td><a href="/healthz">/healthz</a></td><td>whether the process answers</td></tr>
</table>
)";

}  // namespace

std::string HomePage(const RunInfo& info, const std::vector<Target>& targets) {
  std::string page = fmt::format(kHead, info.rank, info.size, Escaped(info.host), Version());
  if (targets.size() > 1) {
    page += "<h1>Ranks</h1>\n<ul>\n";
    for (const Target& target : targets) {
      page += fmt::format("<li><a href=\"{3}://{0}/\">rank {1} on {2}</a></li>\n",
                          Escaped(target.address), target.rank, Escaped(target.host),
                          target.tls ? "https" : "http");
    }
    page += "</ul>\n";
  }
  return page + "</body>\n</html>\n";
}

}  // namespace weir
