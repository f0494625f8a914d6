#pragma once
// `millrace top`: shows the machines (CPU, memory, disk, network, GPUs) and the runs: active ones,
// then ended ones below a heading, which a key hides.
#include <vector>

#include "app/tui/live_loop.h"

namespace millrace::tui {

class TopView final : public View {
 public:
    void draw(CellGrid& grid, const session::LiveModel& model, std::int64_t nowMs) override;
    bool press(const KeyPress& key, const session::LiveModel& model) override;

 private:
    int drawNodes(CellGrid& grid, int y, const session::LiveModel& model, std::int64_t nowMs) const;
    int drawNode(CellGrid& grid, int y, const session::LiveNode& node, bool isOneOfSeveral,
                 std::int64_t nowMs) const;
    int drawGpus(CellGrid& grid, int y, const session::LiveNode& node) const;
    void drawRuns(CellGrid& grid, int y, const session::LiveModel& model, std::int64_t nowMs) const;
    std::vector<const session::LiveRun*> shownRuns(const session::LiveModel& model) const;
    int first_ = 0;  ///< index of the first run shown
    bool isEndedHidden_ = false;
};

}  // namespace millrace::tui
