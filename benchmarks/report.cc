#include "benchmarks/report.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <numeric>
#include <ostream>
#include <random>
#include <stdexcept>

#include "benchmarks/machine.h"

namespace weir::bench {
namespace {

std::string Number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.4g", value);
  return text;
}

nlohmann::ordered_json Json(const Value& value) {
  return std::visit([](const auto& held) { return nlohmann::ordered_json(held); }, value);
}

nlohmann::ordered_json Json(const Row& row) {
  auto json = nlohmann::ordered_json::object();
  for (const auto& [name, value] : row.columns()) json[name] = Json(value);
  return json;
}

std::string Cell(const Value& value) {
  if (const auto* const number = std::get_if<double>(&value)) return Number(*number);
  const auto* const text = std::get_if<std::string>(&value);
  return text != nullptr ? *text : Json(value).dump();
}

void PrintTable(const std::vector<Row>& rows, std::ostream& out) {
  if (rows.empty()) return;
  std::vector<std::vector<std::string>> lines(1);
  for (const auto& [name, unused] : rows.front().columns()) lines[0].push_back(name);
  for (const Row& row : rows) {
    lines.emplace_back();
    for (const std::string& name : lines[0]) lines.back().push_back(Cell(row.At(name)));
  }
  std::vector<std::size_t> widths(lines[0].size());
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) {
      out << std::setw(static_cast<int>(widths[i]) + (i == 0 ? 0 : 2)) << line[i];
    }
    out << '\n';
  }
}

}  // namespace

double Median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

double Seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::vector<std::vector<double>> Interleave(int rounds,
                                            const std::vector<std::function<void()>>& candidates) {
  std::vector<std::vector<double>> seconds(candidates.size());
  std::vector<std::size_t> order(candidates.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937 random(1);
  for (int round = 0; round < rounds; ++round) {
    std::ranges::shuffle(order, random);
    for (const std::size_t i : order) seconds[i].push_back(Seconds(candidates[i]));
  }
  return seconds;
}

double MedianRatio(const std::vector<double>& time, const std::vector<double>& base) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < time.size(); ++i) ratios.push_back(time[i] / base[i]);
  return Median(std::move(ratios));
}

void Report::AddTarget(const std::string& name, double value, const std::string& op,
                       double target) {
  if (op != ">=" && op != "<=") throw std::invalid_argument("target operator " + op);
  targets_.push_back({name, value, op, target, op == ">=" ? value >= target : value <= target});
}

void Report::Print(std::ostream& out) const {
  out << name_ << "\n" << Describe(ThisMachine()) << "\n\n";
  PrintTable(rows_, out);
  out << '\n';
  for (const Target& target : targets_) {
    out << (target.met ? "met     " : "MISSED  ") << target.name << ": " << Number(target.value)
        << " (target " << target.op << " " << Number(target.target) << ")\n";
  }
}

void Report::WriteJson(const std::string& path) const {
  const Machine machine = ThisMachine();
  nlohmann::ordered_json json;
  json["name"] = name_;
  json["machine"] = {{"cpu", machine.cpu},
                     {"cores", machine.cores},
                     {"memory_gib", machine.memory_gib},
                     {"kernel", machine.kernel},
                     {"huge_pages", machine.huge_pages}};
  json["rows"] = nlohmann::ordered_json::array();
  for (const Row& row : rows_) json["rows"].push_back(Json(row));
  json["targets"] = nlohmann::ordered_json::array();
  for (const Target& target : targets_) {
    json["targets"].push_back({{"name", target.name},
                               {"value", target.value},
                               {"op", target.op},
                               {"target", target.target},
                               {"met", target.met}});
  }
  std::ofstream file(path);
  file << json.dump(2) << '\n';
  if (!file.flush()) throw std::runtime_error("cannot write the report to " + path);
}

}  // namespace weir::bench
