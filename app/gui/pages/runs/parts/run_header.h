#pragma once
// A header whose columns are runs: each has its colour before the name.
//
// Threads: the GUI thread.
#include <QHeaderView>

namespace millrace::gui {

class RunColors;

class RunHeader final : public QHeaderView {
    Q_OBJECT

 public:
    RunHeader(const RunColors& colors, QWidget* parent);

 protected:
    void paintSection(QPainter* painter, const QRect& rect, int section) const override;

 private:
    const RunColors& colors_;
};

}  // namespace millrace::gui
