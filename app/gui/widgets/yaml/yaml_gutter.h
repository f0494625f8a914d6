#pragma once
// The line numbers beside a YamlEditor, with its error marks. Private to this folder.
#include <QWidget>

namespace millrace::gui {

class YamlEditor;

class YamlGutter final : public QWidget {
    Q_OBJECT

 public:
    explicit YamlGutter(YamlEditor* editor);
    QSize sizeHint() const override;

 protected:
    void paintEvent(QPaintEvent* event) override;
    bool event(QEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;

 private:
    YamlEditor& editor_;
};

}  // namespace millrace::gui
