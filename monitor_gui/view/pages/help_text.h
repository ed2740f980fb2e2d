#pragma once

#include <QString>
#include <vector>

namespace weir::monitor {

/// Explanation of a view.
struct HelpTopic {
  QString name;   ///< Name of the page (--page) in the picture.
  QString title;  ///< Title in its tab.
  QString text;   ///< HTML.
  int height;     ///< Height of the page in its picture, in pixels.
};

const std::vector<HelpTopic>& HelpTopics();
/// Returns the part that all views share, as HTML.
QString HelpIntroduction();
/// The keys, as an HTML table.
QString HelpKeys();

}  // namespace weir::monitor
