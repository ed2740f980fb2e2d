#pragma once

#include <QString>
#include <vector>

namespace weir::monitor {

/// How to read a view.
struct HelpTopic {
  QString name;   ///< Of the page (--page), whose picture goes with it.
  QString title;  ///< As its tab has it.
  QString text;   ///< HTML.
  int height;     ///< Of the page in its picture, in pixels.
};

const std::vector<HelpTopic>& HelpTopics();
/// What all views have in common, as HTML.
QString HelpIntroduction();
/// The keys, as an HTML table.
QString HelpKeys();

}  // namespace weir::monitor
