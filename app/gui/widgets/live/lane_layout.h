#pragma once
// LaneLayout: positions in the list of jobs: columns, a row per job, and below it a row per rank if
// they are expanded. Coordinates are those of the viewport.
//
// An active job of two or more ranks shows them; those of a job with many ranks, or of one that has
// ended, only if the user expands them. Threads: the GUI thread. Owns: what was expanded and
// collapsed; the model outlives it.
#include <QFont>
#include <QPoint>
#include <QRect>
#include <QSize>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/models/live/lane_model.h"
#include "app/gui/widgets/theme.h"

namespace millrace::gui {

inline constexpr int kLanePad = kSpaceMedium;  ///< between columns

struct LaneColumns {
    int name = 0, state = 0, strip = 0, rate = 0, stall = 0, left = 0, button = 0, end = 0;
    bool hasLeft = true;

    static LaneColumns of(int width, int unit);
};

class LaneLayout {
 public:
    static constexpr std::size_t kRanksOpen = 8;  ///< more are collapsed until the user expands
                                                  ///< them
    static constexpr int kStripHeight = 16, kRankStripHeight = 10;

    explicit LaneLayout(const LaneModel& model) : model_(model) {}

    /// The list or the font has changed: computes the heights again. Returns true if they changed.
    bool arrange(const QFont& font);
    void setView(const QSize& size, int scrolled);

    static bool hasRanks(const LaneState& lane) { return lane.ranks.size() > 1; }
    bool isOpen(const LaneState& lane) const;
    /// For jobs with ranks; call arrange() afterwards.
    void setOpen(const LaneState& lane, bool isOpen) { chosen_[lane.run.id] = isOpen; }

    const LaneColumns& columns() const { return columns_; }
    int headerHeight() const { return headerHeight_; }
    int footHeight() const { return footHeight_; }
    int rowHeight() const { return rowHeight_; }
    /// The height of all rows, and of those before one.
    int height() const { return tops_.empty() ? 0 : tops_.back(); }
    int topOf(int row) const { return tops_[static_cast<std::size_t>(row)]; }

    /// The job's own row, and with its ranks.
    QRect rowRect(int row) const;
    QRect wholeRect(int row) const;
    QRect rankRect(int row, int place) const;
    QRect stripRect(int row) const;
    QRect rankStripRect(int row, int place) const;
    QRect buttonRect(int row) const;
    /// The control that expands its ranks; empty if there are none.
    QRect foldRect(int row) const;

    int rowAt(const QPoint& position) const;  ///< -1: none
    /// The index of the rank at the position among its job's, if any.
    std::optional<int> rankAt(int row, const QPoint& position) const;

 private:
    const LaneModel& model_;
    std::map<std::string, bool> chosen_;
    std::vector<int> tops_;  ///< of each row, and after the last one
    LaneColumns columns_;
    QSize size_;
    int scrolled_ = 0, unit_ = 8;
    int headerHeight_ = 0, footHeight_ = 0, rowHeight_ = 1, rankHeight_ = 1;
};

}  // namespace millrace::gui
