#pragma once

#include <QTextBrowser>
#include <functional>
#include <memory>

#include "monitor_gui/view/pages/page.h"

namespace weir::monitor {

/// Explains each page, with a picture that the page itself draws of a run, and the keys. Draws
/// nothing before it is first seen.
class HelpPage final : public Page {
  Q_OBJECT
 public:
  /// Makes a page by name; nullptr for an unknown name.
  using MakePage = std::function<std::unique_ptr<Page>(const QString& name)>;
  /// Loads the run of the pictures; empty if there is none.
  using LoadRun = std::function<Run()>;
  HelpPage(MakePage make_page, LoadRun load_run, QWidget* parent = nullptr);

  void Refresh(const Look& look) override;
  /// Exports nothing: the page has no numbers.
  Table Export(const Look& look) const override;
  bool IsReady() const override;

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void ShowText();
  /// Draws the next page, and then the remaining ones.
  void DrawNext();

  const MakePage make_page_;
  const LoadRun load_run_;
  QTextBrowser* const text_;
  std::unique_ptr<Run> run_;
  std::unique_ptr<Page> drawn_;  // The page being laid out to be drawn.
  std::size_t next_ = 0;
};

}  // namespace weir::monitor
