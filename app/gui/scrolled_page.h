#pragma once
// A page that fills the window, and scrolls where the window is smaller than the page can be.
//
// Unlike QScrollArea alone it asks for the least size, not the preferred one, of pages with wrapped
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
