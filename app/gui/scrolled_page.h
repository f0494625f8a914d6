#pragma once
// ScrolledPage: a page that fills the window, and scrolls if the window is smaller than its
// minimum.
//
// Unlike a plain QScrollArea it uses the minimum size, not the preferred one, of pages with wrapped
// text. Threads: the GUI thread. Owns: the page.
#include <QScrollArea>

namespace millrace::gui {

class ScrolledPage final : public QScrollArea {
    Q_OBJECT

 public:
    ScrolledPage(QWidget* page, QWidget* parent);

 protected:
    void resizeEvent(QResizeEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

 private:
    void fit();
};

}  // namespace millrace::gui
