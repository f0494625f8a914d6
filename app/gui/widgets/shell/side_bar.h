#pragma once
// SideBar: the bar at the left: one button per page, with its icon and name; Up and Down move
// between them.
//
// Threads: the GUI thread.
#include <QAbstractButton>
#include <QFrame>
#include <functional>
#include <vector>

#include "app/gui/widgets/icons.h"

class QVBoxLayout;

namespace millrace::gui {

class SideButton final : public QAbstractButton {
    Q_OBJECT

 public:
    SideButton(Glyph glyph, const QString& text, QWidget* parent);
    QSize sizeHint() const override;

 protected:
    void paintEvent(QPaintEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

 private:
    Glyph glyph_;
};

class SideBar final : public QFrame {
    Q_OBJECT

 public:
    explicit SideBar(QWidget* parent = nullptr);
    /// `key` is shown in the tooltip.
    void addPage(Glyph glyph, const QString& text, const QString& key);
    void addFootButton(Glyph glyph, const QString& text, const QString& toolTip, QObject* context,
                       std::function<void()> onClick);
    void setCurrent(int page) { buttons_[static_cast<std::size_t>(page)]->setChecked(true); }
    SideButton* button(int page) const { return buttons_[static_cast<std::size_t>(page)]; }

 Q_SIGNALS:
    void chosen(int page);

 protected:
    void paintEvent(QPaintEvent* event) override;

 private:
    QVBoxLayout *pages_, *foot_;
    std::vector<SideButton*> buttons_;
};

}  // namespace millrace::gui
