#pragma once
// WrappedHeader: the header of the table of runs: a heading that does not fit into one line takes
// two, so that no two columns look the same.
//
// Threads: the GUI thread.
#include <QHeaderView>

namespace millrace::gui {

/// `heading` in at most two lines of `width` pixels, split after a blank, a dot, a slash or an
/// underscore. Elides the middle of a line only if two lines do not fit either.
QString wrappedHeading(const QString& heading, const QFontMetrics& metrics, int width);

class WrappedHeader final : public QHeaderView {
    Q_OBJECT

 public:
    explicit WrappedHeader(QWidget* parent);

    /// The smallest width of a section that shows all of `heading`.
    int widthFor(const QString& heading) const;
    /// The text of a section as it is painted.
    QString shownText(int section) const;
    QSize sizeHint() const override;

 protected:
    void initStyleOptionForIndex(QStyleOptionHeader* option, int section) const override;

 private:
    int edges() const;
};

}  // namespace millrace::gui
