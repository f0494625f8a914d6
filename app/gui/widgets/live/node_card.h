#pragma once
// NodeCard: one machine as a card: processors (all and each core), memory, network, disk, every
// GPU, each with its last minute; collapsed to one line if there are many machines.
//
// An unknown value is "n/a"; a machine without a GPU shows why. Painted as a whole, once per
// sample. Enter, Space or a click on the head expands and collapses it. Threads: the GUI thread.
// Owns: nothing of the model.
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
    /// The card in words: for screen readers, the tooltip and tests.
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
