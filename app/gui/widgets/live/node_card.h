#pragma once
// One machine as a card: processors (all and each core), memory, network, disk, every GPU, each
// with its last minute; collapsed to one line where there are many machines.
//
// What is not known is "n/a"; a machine without a GPU says why. Painted as a whole, once a sample.
// Enter, Space or a click on the head opens and closes it. Threads: the GUI thread. Owns: nothing
// of the model.
#include <QPointer>
#include <QString>
#include <QWidget>

#include "app/gui/models/live/node_model.h"

namespace millrace::gui {

class NodeCard final : public QWidget {
    Q_OBJECT

 public:
    NodeCard(const NodeModel& model, std::string node, QWidget* parent = nullptr);

    const std::string& node() const { return node_; }
    void setOpen(bool isOpen);
    bool isOpen() const { return isOpen_; }
    /// What the card says, in words: for screen readers, the tool tip and tests.
    QString summary() const;

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

 Q_SIGNALS:
    void toggled(bool isOpen);

 protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;
    bool event(QEvent* event) override;

 private:
    const NodeState* state() const { return model_->find(node_); }
    int rowHeight() const;
    int numCoreRows(const NodeState& node) const;

    const NodeModel* model_;
    std::string node_;
    bool isOpen_ = true;
};

}  // namespace millrace::gui
