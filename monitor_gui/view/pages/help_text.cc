#include "monitor_gui/view/pages/help_text.h"

#include <QObject>
#include <utility>

namespace weir::monitor {
namespace {

QString Tr(const char* text) { return QObject::tr(text); }

}  // namespace

const std::vector<HelpTopic>& HelpTopics() {
  static const std::vector<HelpTopic> kTopics = {
      {"overview", Tr("Overview"),
       Tr("<p>The whole run on one screen, over one axis of steps. <b>A step</b>: what the rank "
          "that sets the pace spends its time on; exposed is what nothing hides. <b>Bytes a "
          "second</b>: what a rank sends, what the same gradients would be uncompressed, and what "
          "the link carries where that was measured. <b>Density</b>: what is configured and what "
          "was achieved. Below them every layer's latency. Dashed lines with a triangle are "
          "changes "
          "of the plan.</p>"
          "<p>Point at a step: the titles have its values, and all charts show where it is. A "
          "click "
          "shows that step in all pages; a click at a layer chooses it in all pages.</p>"
          "<p><b>Look for</b> the lines under <b>What to do</b>: each leads to the page that shows "
          "more.</p>"),
       560},
      {"lanes", Tr("Lanes"),
       Tr("<p>What each rank did when, a lane for each kind of work. Thin vertical lines are the "
          "begins of steps.</p><ul>"
          "<li><b>backprop</b>: from the begin of a step to its last gradient.</li>"
          "<li><b>compress</b>: packing and compressing a bucket; <b>exchange</b>: on the network; "
          "<b>merge</b>: putting together what came.</li></ul>"
          "<p><b>Look for</b> an exchange that goes on to the right of backprop: that is time in "
          "which the rank only waits. The fewer and the shorter such tails, the better "
          "communication hides. A rank whose backprop is longer than the others' holds them up. "
          "Point at a bar for its bucket, time and bytes. Of a layer that is chosen, all other "
          "buckets are faint.</p>"),
       360},
      {"layers", Tr("Layers"),
       Tr("<p>A row for each layer, a column for each step, the newest at the right; brighter is "
          "more, on a logarithmic scale whose ends stand above it. The table below has the numbers "
          "of the step that is shown.</p>"
          "<p>A click chooses a step and a layer, here and in all other pages.</p>"
          "<p><b>Look for</b> a bright row (a layer that always takes long), a bright column (a "
          "step "
          "in which all did), and rows that change their colour: density falls while DGC warms up. "
          "Filter and order of the table are those of the map.</p>"),
       420},
      {"sparsity", Tr("Sparsity"),
       Tr("<p><b>Density</b> is the part of the gradient entries that are sent: dotted what the "
          "schedule asks for, solid what was achieved. Steps down at the left are the warm-up. "
          "<b>Residual</b> is what is kept back, as a multiple of the gradient's norm. "
          "<b>Threshold</b> is the magnitude from which an entry is sent.</p>"
          "<p><b>Look for</b> an achieved density far above the configured one (biases and small "
          "tensors travel whole), and for a residual that goes on growing: too little is "
          "sent.</p>"),
       620},
      {"bandwidth", Tr("Bandwidth"),
       Tr("<p>What one rank sends and takes a second; what it put into each step's exchanges, "
          "beside what dense gradients would have been (dotted); and how many buckets wait for a "
          "stage.</p>"
          "<p><b>Look for</b> a rate that stays at what the link can do (compress more), and for a "
          "line of waiting buckets that stays up: that stage is too slow.</p>"),
       660},
      {"decisions", Tr("Decisions"),
       Tr("<p>What holds at the step that is shown, and why, in a sentence; below a row for each "
          "bucket: the form in which it travels, what that costs, and what it took in other forms. "
          "With <code>compression=auto</code> the tables below say which plans were considered, "
          "what was predicted and measured of them, and when the plan changed: a click on a change "
          "shows its step.</p>"
          "<p><b>Look for</b> a bucket with a wire ratio near 1, which gains nothing from its "
          "compressor, for a compression that takes longer than the exchange it shortens, and for "
          "plans that change again and again: the network or the machine is not steady.</p>"),
       420},
      {"ranks", Tr("Ranks"),
       Tr("<p>A row for each rank. <b>Own work</b> is a step without what it only waited for: the "
          "rank that has most of it is the one the others wait for, however little it waits "
          "itself.</p>"
          "<p><b>Look for</b> one rank with more own work than the others and less exposed "
          "communication, and for stalled tensors, which some ranks submitted and others did "
          "not: <b>Not submitted</b>, which is there only then, names them in the row of the rank "
          "that they wait for.</p>"),
       150},
  };
  return kTopics;
}

QString HelpIntroduction() {
  return Tr(
      "<p>The strip above all pages says how the run does: time of a step, what of it is exposed "
      "(spent on nothing but communication or compression), how many times less is sent than dense "
      "gradients would be, and which rank is slowest. Every number there and every column of a "
      "table explains itself when pointed at.</p>"
      "<p>The slider below all pages chooses the step that they show. A job that runs is followed "
      "until it is moved, and again after <b>Back to live</b>. With two runs, B's curves are "
      "dashed, "
      "its numbers stand below A's with what they are in parts of them, and both are shown after "
      "as "
      "many steps.</p>");
}

QString HelpKeys() {
  const std::vector<std::pair<QString, QString>> keys = {
      {Tr("Left, Right"), Tr("a step back, a step on")},
      {Tr("Home, End"), Tr("the first step, the newest")},
      {Tr("Space"), Tr("plays at recorded speed, or holds")},
      {Tr("Ctrl+1 … Ctrl+7"), Tr("the pages")},
      {Tr("+, −"), Tr("in the lanes: zoom, as the wheel does at the mouse")},
      {Tr("Shift+Left, Shift+Right"), Tr("in the lanes: move, as dragging does")},
      {Tr("Ctrl+O, Ctrl+N"), Tr("open a run log, connect to a job")},
      {Tr("Ctrl+M"), Tr("compare with another run log")},
      {Tr("Ctrl+R"), Tr("record a job to a file")},
      {Tr("Ctrl+E, Ctrl+Shift+E, Ctrl+T"), Tr("export the window, the page's numbers, a trace")},
      {Tr("F1, ?"), Tr("this page")},
  };
  QString rows;
  for (const auto& [key, does] : keys)
    rows += QString("<tr><td><b>%1</b></td><td>%2</td></tr>").arg(key, does);
  return "<table cellpadding=\"4\">" + rows + "</table>";
}

}  // namespace weir::monitor
